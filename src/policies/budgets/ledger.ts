/** What tenants have used, by model and day. */
import type { MaybePromise } from '../../ports/store.ts';
import { RecentMap } from './recent-map.ts';

/** The usage of one tenant with one model on one day. */
export interface UsageRow {
  /** As the option `scope` returns it. */
  readonly tenant: string;
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
  readonly tenant: string;
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
const MAX_DAYS = 50_000;
/** Clients choose the names of models: those past this number count as one. */
const MAX_MODELS = 16;
const OTHER = 'other';
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
  const days = new RecentMap<Map<string, UsageRow>>(2 * MAX_DAYS);
  return {
    add(row) {
      const key = keyOf(row);
      const models = days.get(key) ?? new Map<string, UsageRow>();
      days.set(key, models);
      const model = models.has(row.model) || models.size < MAX_MODELS ? row.model : OTHER;
      models.set(model, sum(models.get(model), { ...row, model }));
    },
    read({ tenant, from, to, model }) {
      const rows = daysBetween(from, to).flatMap((day) => [...(days.get(keyOf({ tenant, day }))?.values() ?? [])]);
      return model === undefined ? rows : rows.filter((row) => row.model === model);
    },
  };
}

/** A day has no space, so that no two keys are equal. */
function keyOf({ tenant, day }: Pick<UsageRow, 'tenant' | 'day'>): string {
  return `${day} ${tenant}`;
}

function sum(before: UsageRow | undefined, row: UsageRow): UsageRow {
  if (!before) return row;
  return {
    ...row,
    requests: before.requests + row.requests,
    inputTokens: before.inputTokens + row.inputTokens,
    outputTokens: before.outputTokens + row.outputTokens,
    cost: before.cost + row.cost,
  };
}

/** The day of a time, in UTC. */
export function dayOf(time: number | Date): string {
  return new Date(time).toISOString().slice(0, 'yyyy-mm-dd'.length);
}

function daysBetween(from: string, to: string): readonly string[] {
  const first = Date.parse(from);
  const count = Math.floor((Date.parse(to) - first) / DAY_MS) + 1;
  return Array.from({ length: Math.max(count, 0) }, (_, index) => dayOf(first + index * DAY_MS));
}
