/** The port to the budgets of tenants: a request is counted before the model is called, and each model call when it ends. */
import type { Usage } from '../protocol/events.ts';
import { callHookSafely } from './hooks.ts';

/** What one call of a model used. */
export interface ModelCallUsage {
  /** The model that the request names. */
  readonly model: string;
  /** As the model server reports it; an estimate where it does not. */
  readonly usage: Usage;
  /** In dollars, if the model server reports it. */
  readonly cost?: number | undefined;
  /** The host's name for the model server that answered, if the upstream chose among several. */
  readonly server?: string | undefined;
}

/** One turn of a tenant. */
export interface BudgetedTurn {
  /** The headers of the answer that show the client what is left. */
  readonly headers: Readonly<Record<string, string>>;
  /** Counts one call of the model, of which a turn may have several. Never throws. */
  count(call: ModelCallUsage): void;
  /** The turn is over, so it holds nothing back any more. May be called twice; never throws. */
  readonly end?: (() => void) | undefined;
}

/** The budgets of all tenants. */
export interface Budget {
  /**
   * Takes one request of the tenant; with `onlyIfCounted`, only once a model call is counted. Rejects with an `ApiError`
   * if its budget is used up.
   */
  admit(scope: string, onlyIfCounted?: boolean): Promise<BudgetedTurn>;
  /** A turn whose request was taken before, such as one that another process began. */
  resume(scope: string): BudgetedTurn;
}

/** The same turn where nobody could catch what it throws: it becomes a process warning. */
export function guardedTurn(turn: BudgetedTurn): BudgetedTurn {
  return {
    headers: turn.headers,
    count: (call) => callHookSafely('budget.count', () => turn.count(call)),
    end: () => callHookSafely('budget.end', () => turn.end?.()),
  };
}
