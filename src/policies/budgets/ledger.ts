/** What tenants have used, by model and day. */
import type { MaybePromise } from '../../ports/store.ts';
import { RecentMap } from './recent-map.ts';

/** The usage of one tenant with one model on one day. */
export interface UsageRow {
  /** The tenant, as the option `scope` returns it. */
  readonly scope: string;
  /** As the requests named it; `other` for models beyond the number that is counted separately. */
  readonly model: string;
  /** In UTC, such as `2026-01-31`. */
  readonly day: string;
  /** Turns that called the model; a turn with several calls counts once. */
  readonly requests: number;
  /** Tokens that the model read. */
  readonly inputTokens: number;
  /** Tokens that the model wrote. */
  readonly outputTokens: number;
  /** In dollars. */
  readonly cost: number;
}

/** Selects rows of one tenant. */
export interface UsageQuery {
  /** The tenant whose rows are returned. */
  readonly scope: string;
  /** The first day. */
  readonly from: string;
  /** The last day. */
  readonly to: string;
  /** Default: all. */
  readonly model?: string | undefined;
}

/** Where usage is kept. A ledger of your own adds each row to that of the same tenant, model and day. */
export interface UsageLedger {
  /** Adds the row; it must not throw for a tenant or a model that it does not know. */
  add(row: UsageRow): MaybePromise<void>;
  /** One row for each model and day. */
  read(query: UsageQuery): MaybePromise<readonly UsageRow[]>;
}

/** The most pairs of tenant and day that are kept: 50,000 tenants for one day, or 500 tenants for a hundred days. */
const MAX_TENANT_DAYS = 50_000;
/** Clients choose the names of models: those past this number count as one. */
const MAX_MODELS = 16;
const OTHER_MODELS = 'other';
export const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * A ledger in the memory of the process, which drops the least recently used pairs of tenant and day.
 *
 * @example
 * ```ts
 * import { memoryLedger, tokenBudget } from 'express-open-responses/budgets';
 *
 * const ledger = memoryLedger();
 * const budget = tokenBudget({ limits: { tokens: { points: 100_000, duration: 60 } }, ledger });
 * ```
 */
export function memoryLedger(): UsageLedger {
  const days = new RecentMap<Map<string, UsageRow>>(2 * MAX_TENANT_DAYS);
  // A day has no space, so that no two keys are equal.
  const dayKey = ({ scope, day }: Pick<UsageRow, 'scope' | 'day'>) => `${day} ${scope}`;
  return {
    add(row) {
      const key = dayKey(row);
      const models = days.get(key) ?? new Map<string, UsageRow>();
      days.set(key, models);
      const model = models.has(row.model) || models.size < MAX_MODELS ? row.model : OTHER_MODELS;
      const before = models.get(model);
      models.set(model, {
        ...row,
        model,
        requests: (before?.requests ?? 0) + row.requests,
        inputTokens: (before?.inputTokens ?? 0) + row.inputTokens,
        outputTokens: (before?.outputTokens ?? 0) + row.outputTokens,
        cost: (before?.cost ?? 0) + row.cost,
      });
    },
    read({ scope, from, to, model }) {
      const first = Date.parse(from);
      const count = Math.floor((Date.parse(to) - first) / DAY_MS) + 1;
      const rows = Array.from({ length: Math.max(count, 0) }, (_, index) => {
        const day = utcDay(first + index * DAY_MS);
        return [...(days.get(dayKey({ scope, day }))?.values() ?? [])];
      }).flat();
      return model === undefined ? rows : rows.filter((row) => row.model === model);
    },
  };
}

/** The day of a time, in UTC. */
export function utcDay(time: number | Date): string {
  return new Date(time).toISOString().slice(0, 'yyyy-mm-dd'.length);
}
