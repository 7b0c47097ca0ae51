/** What running turns hold back of a tenant's budget: many at once would otherwise pass a limit that none of them has reached. */
import { checkOptions, type OptionCheck } from '../../ports/host/options-check.ts';
import { dollarPoints, isDollars } from './limiters.ts';
import type { LimitState } from './rate-limit-headers.ts';

/** What a running turn holds back of the limits of those names. */
export interface BudgetReserve {
  /** Tokens that the model reads. */
  readonly inputTokens?: number | undefined;
  /** Tokens that it writes. */
  readonly outputTokens?: number | undefined;
  /** Both together. */
  readonly tokens?: number | undefined;
  /** Dollars, such as 0.05. */
  readonly cost?: number | undefined;
}

/** What is left of one limit. */
export interface KindState extends LimitState {
  readonly kind: string;
  readonly isOver: boolean;
  /** Whether it is over only until other turns of the tenant have ended. */
  readonly isHeld?: boolean;
}

/** The points that each running turn of a tenant holds back, by the kind of the limit. */
export class Reserve {
  private readonly points: ReadonlyMap<string, number>;
  /** How many turns of each tenant run; a tenant without any has no entry. */
  private readonly running = new Map<string, number>();

  constructor(points: Readonly<Record<string, number>>) {
    this.points = new Map(Object.entries(points));
  }

  /** What is left beside the turns that run. */
  left<State extends KindState>(state: State, tenant: string): State {
    const heldPoints = (this.running.get(tenant) ?? 0) * (this.points.get(state.kind) ?? 0);
    if (heldPoints === 0) return state;
    const remainingPoints = Math.max(state.remainingPoints - heldPoints, 0);
    // When a turn will end is not known; the window may last for a month.
    const isHeld = !state.isOver && remainingPoints === 0;
    return { ...state, remainingPoints, isOver: state.isOver || isHeld, isHeld };
  }

  /** Begins a turn; the function that it returns ends it, once. */
  begin(tenant: string): () => void {
    if (this.points.size === 0) return () => {};
    this.count(tenant, 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.count(tenant, -1);
    };
  }

  private count(tenant: string, more: number): void {
    const count = (this.running.get(tenant) ?? 0) + more;
    if (count === 0) this.running.delete(tenant);
    else this.running.set(tenant, count);
  }
}

const points: OptionCheck = (value) =>
  (typeof value === 'number' && value > 0 && Number.isFinite(value)) || 'a number over 0';

const dollars: OptionCheck = (value) => isDollars(value) || 'dollars, a millionth at least';

/** The reserve of limits that are set; throws a `TypeError` for any other, and for bad points. */
export function readReserve(reserve: BudgetReserve, limited: ReadonlySet<string>): Readonly<Record<string, number>> {
  const checks = { inputTokens: points, outputTokens: points, tokens: points, cost: dollars };
  checkOptions('tokenBudget: reserve', reserve, checks);
  const heldPoints = Object.entries(reserve).filter(([, points]) => points !== undefined);
  const unlimited = heldPoints.find(([kind]) => !limited.has(kind));
  if (unlimited)
    throw new TypeError(`tokenBudget: reserve: ${unlimited[0]} has no limit of which it could be held back`);
  return Object.fromEntries(heldPoints.map(([kind, held]) => [kind, kind === 'cost' ? dollarPoints(held) : held]));
}
