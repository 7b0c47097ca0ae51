/** The budget of each tenant: checked before the model is called, and charged with what its calls used. */
import { hash } from 'node:crypto';
import { inspect } from 'node:util';
import { tokenCounting } from '../../engine/tokens/settings.ts';
import type { TextCounter } from '../../engine/tokens/tokenizer.ts';
import type { HostMiddleware } from '../../hosts/middleware/as-middleware.ts';
import type { NodeRequest, ScopeOf } from '../../hosts/node/node-request.ts';
import type { Budget, BudgetedTurn, ModelCallUsage } from '../../ports/budget.ts';
import { warnOfError } from '../../ports/host/error-warning.ts';
import { withTimeout } from '../../ports/host/in-time.ts';
import { checkOptions, isFunction, isObject, isOneOf, milliseconds } from '../../ports/host/options-check.ts';
import type { MaybePromise } from '../../ports/store.ts';
import { ApiError } from '../../protocol/errors.ts';
import { toReportedModel } from '../../protocol/printable.ts';
import { ignoreRejection, isRecord } from '../../protocol/record.ts';
import { budgetMiddleware } from './budget-middleware.ts';
import { DAY_MS, memoryLedger, type UsageLedger, type UsageRow, utcDay } from './ledger.ts';
import {
  type DollarWindow,
  dollarPoints,
  type Limiter,
  type LimitWindow,
  type PointLimiter,
  type PointsLeft,
  readLimiter,
} from './limiters.ts';
import { durationText, rateLimitHeaders } from './rate-limit-headers.ts';
import { type BudgetReserve, type KindState, Reserve, readReserve } from './reserve.ts';

/** What a tenant may use: each a limiter of `rate-limiter-flexible`, or `{ points, duration }` for one in memory, `{ dollars, duration }` for cost. */
export interface BudgetLimits {
  /** Requests that call a model. */
  readonly requests?: PointLimiter | LimitWindow | undefined;
  /** Tokens that the model reads. */
  readonly inputTokens?: PointLimiter | LimitWindow | undefined;
  /** Tokens that it writes. */
  readonly outputTokens?: PointLimiter | LimitWindow | undefined;
  /** Both together. */
  readonly tokens?: PointLimiter | LimitWindow | undefined;
  /** Dollars, such as 0.05. A limiter of your own counts millionths of them, since databases count whole points. */
  readonly cost?: PointLimiter | DollarWindow | undefined;
}

/** The options of `tokenBudget`. */
export interface TokenBudgetOptions<Req extends NodeRequest = NodeRequest> {
  /** What each tenant may use. Default: no limit, so that usage is only kept in the ledger. */
  readonly limits?: BudgetLimits | undefined;
  /** The limit of `tokens`, for a budget with this one alone: short for `limits: { tokens: limiter }`. */
  readonly limiter?: PointLimiter | LimitWindow | undefined;
  /**
   * What each running turn holds back, in this process, until it is over: with 100,000 tokens left and `{ tokens: 2000 }`
   * a tenant may have 50 turns at once, and further ones get 429 `rate_limit_exceeded`. Default: nothing, so that turns
   * which run at the same time may pass a limit together.
   */
  readonly reserve?: BudgetReserve | undefined;
  /** The cost in dollars of a model call whose server does not report one. Default: nothing. */
  readonly cost?: ((call: Omit<ModelCallUsage, 'cost'>) => number) | undefined;
  /** Where usage is kept. Default: a `memoryLedger()`. */
  readonly ledger?: UsageLedger | undefined;
  /** The tenant of a request, for the middleware; routers have an option of that name. Default: a digest of the API key. */
  readonly scope?: ScopeOf<Req> | undefined;
  /** How the middleware counts the tokens of a text that no server has counted. Default: as the routers' option of this name. */
  readonly countTokens?: TextCounter | undefined;
  /** Whether requests pass or are refused with `budget_unavailable` while a limiter's database fails. Default: `pass`. */
  readonly onLimiterError?: 'pass' | 'refuse' | undefined;
  /** Milliseconds that a limiter and the ledger have to answer. Default: 1,000. */
  readonly limiterTimeoutMs?: number | undefined;
}

/** Selects what `report` returns; days are in UTC, such as `2026-01-31`. */
export interface UsageReport {
  /** The tenant whose usage is returned. */
  readonly scope: string;
  /** The first day. Default: today. */
  readonly from?: string | Date | undefined;
  /** The last day. Default: today. */
  readonly to?: string | Date | undefined;
  /** Default: all. */
  readonly model?: string | undefined;
}

/** A middleware for a handler of the host's own, and the option `budget` of the routers. */
export type TokenBudget<Req extends NodeRequest = NodeRequest> = HostMiddleware<Req> &
  Budget & {
    /** The usage of a tenant, a row for each model and day. Throws a `TypeError` for a bad day. */
    report(query: UsageReport): Promise<readonly UsageRow[]>;
  };

/**
 * Budgets and rates by tenant. Before the model is called, one request is charged and the rest of the budget is checked;
 * what the model calls used is charged when they end, even if the client has left. A tenant over a limit
 * gets 429 `rate_limit_exceeded` with `retry-after`, or `insufficient_quota` if it lasts longer than a day. Throws a
 * `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import express, { type RequestHandler } from 'express';
 * import { responsesRouter } from 'express-open-responses';
 * import { tokenBudget } from 'express-open-responses/budgets';
 *
 * declare const proxy: RequestHandler;
 * const minute = 60;
 * const budget = tokenBudget({
 *   limits: { requests: { points: 60, duration: minute }, tokens: { points: 100_000, duration: minute } },
 * });
 * const app = express();
 * app.post('/llm', express.json(), budget, proxy);
 * app.use('/v1', responsesRouter({ budget }));
 * ```
 */
export function tokenBudget<Req extends NodeRequest = NodeRequest>(
  options: TokenBudgetOptions<Req> = {},
): TokenBudget<Req> {
  checkOptions('tokenBudget', options, {
    limits: isObject,
    limiter: isObject,
    reserve: isObject,
    cost: isFunction,
    ledger: (value) => (isRecord(value) && 'add' in value && 'read' in value) || 'an object with add and read',
    scope: isFunction,
    countTokens: isFunction,
    onLimiterError: isOneOf('pass', 'refuse'),
    limiterTimeoutMs: milliseconds,
  });
  const tenants = new TenantBudgets(options);
  const { count: countTokens } = tokenCounting(options.countTokens);
  // The cast: the host states the type that its earlier handlers give a request.
  const scope = options.scope as ScopeOf<NodeRequest> | undefined;
  const budget: TokenBudget<Req> = Object.assign(
    budgetMiddleware(() => budget, { scope, countTokens }),
    {
      admit: (tenant: string, onlyIfCounted?: boolean) => tenants.admit(tenant, onlyIfCounted),
      resume: (tenant: string) => tenants.resume(tenant),
      report: (query: UsageReport) => tenants.report(query),
    },
  );
  return budget;
}

type Kind = keyof BudgetLimits;

/** The names of the limits in messages. */
const KINDS: Readonly<Record<Kind, string>> = {
  requests: 'requests',
  inputTokens: 'input tokens',
  outputTokens: 'output tokens',
  tokens: 'tokens',
  cost: 'the cost',
};

/** The most points of one charge: what an integer of PostgreSQL holds. */
const MAX_POINTS = 2 ** 31 - 1;
const MAX_REPORT_DAYS = 3660;

/** What is left of one limit. */
interface State extends KindState {
  readonly kind: Kind;
}

/** The requests of a turn that its first model call counts. */
interface Requests {
  /** In the ledger. */
  readonly requests: number;
  /** In the limit, which has not taken them. */
  readonly untaken: number;
}

class TenantBudgets {
  private readonly limiters: readonly (readonly [Kind, Limiter])[];
  private readonly ledger: UsageLedger;
  private readonly price: TokenBudgetOptions['cost'];
  private readonly refuses: boolean;
  private readonly timeoutMs: number;
  private readonly reserve: Reserve;

  constructor(options: TokenBudgetOptions<never>) {
    const { ledger, cost, onLimiterError, limiterTimeoutMs = 1000, reserve = {} } = options;
    const { limits = {}, limiter } = options;
    const limiters: (readonly [Kind, Limiter])[] = [];
    for (const [name, limit] of Object.entries(limits)) {
      if (limit === undefined) continue;
      if (!Object.hasOwn(KINDS, name))
        throw new TypeError(`tokenBudget: limits: unknown limit '${name}'; known are ${Object.keys(KINDS).join(', ')}`);
      // The cast: just checked.
      limiters.push([name as Kind, readLimiter(`limits.${name}`, limit)]);
    }
    if (limiter !== undefined && limits.tokens)
      throw new TypeError('tokenBudget: limiter and limits.tokens are the same limit; set one of them');
    if (limiter !== undefined) limiters.push(['tokens', readLimiter('limiter', limiter)]);
    this.limiters = limiters;
    this.reserve = new Reserve(readReserve(reserve, new Set(this.limiters.map(([kind]) => kind))));
    this.ledger = ledger ?? memoryLedger();
    this.price = cost;
    this.refuses = onLimiterError === 'refuse';
    this.timeoutMs = limiterTimeoutMs;
  }

  async admit(tenant: string, onlyIfCounted = false): Promise<BudgetedTurn> {
    const states = await Promise.all(
      this.limiters.map(([kind, limiter]) => this.readState(kind, limiter, tenant, onlyIfCounted)),
    );
    const remaining = states.filter((state) => state !== undefined).map((state) => this.reserve.left(state, tenant));
    const headers = rateLimitHeaders({
      requests: remaining.find(({ kind }) => kind === 'requests'),
      tokens: remaining
        .filter(({ kind }) => kind.endsWith('okens'))
        .toSorted((one, other) => one.remainingPoints - other.remainingPoints)[0],
    });
    // A window that never ends counts as the longest.
    const [over] = remaining.filter(({ isOver }) => isOver).toSorted((one, other) => waitMs(other) - waitMs(one));
    if (over) throw overLimitError(over, headers);
    return this.turn(tenant, headers, { requests: 1, untaken: onlyIfCounted ? 1 : 0 });
  }

  resume(tenant: string): BudgetedTurn {
    // The process that began the turn has counted its request.
    return this.turn(tenant, {}, { requests: 0, untaken: 0 });
  }

  async report({ scope, from = new Date(), to = new Date(), model }: UsageReport): Promise<readonly UsageRow[]> {
    const [first, last] = [requireDay('from', from), requireDay('to', to)];
    if (Date.parse(last) - Date.parse(first) > MAX_REPORT_DAYS * DAY_MS)
      throw new TypeError(`report: at most ${MAX_REPORT_DAYS} days, got ${first} to ${last}`);
    return this.ledger.read({ scope, from: first, to: last, model });
  }

  private turn(tenant: string, headers: BudgetedTurn['headers'], first: Requests): BudgetedTurn {
    let uncounted = first;
    return {
      headers,
      end: this.reserve.begin(tenant),
      count: (call) => {
        this.count(tenant, call, uncounted);
        uncounted = { requests: 0, untaken: 0 };
      },
    };
  }

  /** Undefined if the limiter fails, and requests pass then. */
  private async readState(kind: Kind, limiter: Limiter, tenant: string, isLook: boolean): Promise<State | undefined> {
    const key = limiterKey(kind, tenant);
    try {
      const limit = limiter.points;
      if (kind === 'requests' && !isLook)
        return { kind, limit, ...(await this.withTimeout(() => takeRequest(limiter, key))) };
      const rest = await this.withTimeout(() => limiter.get(key));
      if (!rest) return { kind, limit, remainingPoints: limit, msBeforeNext: 0, isOver: false };
      const { remainingPoints, msBeforeNext } = rest;
      return { kind, limit, remainingPoints, msBeforeNext, isOver: remainingPoints <= 0 };
    } catch (cause) {
      const error = unavailableError(cause);
      if (this.refuses) throw error;
      warnOfError(error, { requestId: 'budget' });
      return undefined;
    }
  }

  /** Charges usage beyond a limit, too: the answer has already been written. */
  private count(tenant: string, { cost, ...call }: ModelCallUsage, { requests, untaken }: Requests): void {
    const { model, usage } = call;
    const { input_tokens: inputTokens, output_tokens: outputTokens, total_tokens: tokens } = usage;
    const dollars = cost ?? this.priceOf(call);
    const points = { requests: untaken, inputTokens, outputTokens, tokens, cost: dollarPoints(dollars) };
    for (const [kind, limiter] of this.limiters) {
      const charge = Math.min(points[kind], MAX_POINTS);
      if (charge > 0) this.runInBackground(() => limiter.penalty(limiterKey(kind, tenant), charge));
    }
    const name = toReportedModel(model);
    const row = {
      scope: tenant,
      model: name,
      day: utcDay(Date.now()),
      requests,
      inputTokens,
      outputTokens,
      cost: dollars,
    };
    this.runInBackground(() => this.ledger.add(row));
  }

  private priceOf(call: Omit<ModelCallUsage, 'cost'>): number {
    try {
      const dollars = this.price?.(call) ?? 0;
      if (dollars >= 0 && Number.isFinite(dollars)) return dollars;
      ignoreRejection(dollars);
      throw new TypeError(`cost must return dollars, got ${inspect(dollars)}`);
    } catch (cause) {
      warnOfError(unavailableError(cause), { requestId: 'budget' });
      return 0;
    }
  }

  /** Runs in the background: the answer does not wait for it. */
  private runInBackground(run: () => MaybePromise<unknown>): void {
    this.withTimeout(run).catch((cause) => warnOfError(unavailableError(cause), { requestId: 'budget' }));
  }

  private async withTimeout<Value>(work: () => MaybePromise<Value>): Promise<Value> {
    return withTimeout(work(), this.timeoutMs, () => `No answer within ${this.timeoutMs} ms.`);
  }
}

type LimitRest = Pick<State, 'remainingPoints' | 'msBeforeNext' | 'isOver'>;

/** Takes one request; a limiter rejects with the rest of the budget, which is not an error. */
async function takeRequest(limiter: Limiter, key: string): Promise<LimitRest> {
  try {
    const { remainingPoints, msBeforeNext } = await limiter.consume(key, 1);
    return { remainingPoints, msBeforeNext, isOver: false };
  } catch (refusal) {
    if (refusal instanceof Error || !isRecord(refusal) || typeof refusal.msBeforeNext !== 'number') throw refusal;
    return { remainingPoints: 0, msBeforeNext: refusal.msBeforeNext, isOver: true };
  }
}

/** Keys that every database accepts. */
const PLAIN_TENANT = /^[\x21-\x7e]{1,128}$/;

/** Different for each pair: no kind contains `=` or `#`, and only digests follow `#`. */
function limiterKey(kind: Kind, tenant: string): string {
  return PLAIN_TENANT.test(tenant) ? `${kind}=${tenant}` : `${kind}#${hash('sha256', tenant, 'base64url')}`;
}

function waitMs({ msBeforeNext, isHeld = false }: PointsLeft & Pick<KindState, 'isHeld'>): number {
  if (isHeld) return HELD_MS;
  return msBeforeNext < 0 ? Number.POSITIVE_INFINITY : msBeforeNext;
}

/** When the next of a tenant's turns will end is not known. */
const HELD_MS = 1000;

function overLimitError(state: State, limitHeaders: Readonly<Record<string, string>>): ApiError {
  const wait = waitMs(state);
  const when = Number.isFinite(wait) ? ` Try again in ${durationText(wait)}.` : '';
  const retry = Number.isFinite(wait) ? { 'retry-after': String(Math.max(Math.ceil(wait / 1000), 1)) } : {};
  const headers = { ...limitHeaders, ...retry };
  if (wait > DAY_MS)
    return new ApiError('insufficient_quota', `The quota for ${KINDS[state.kind]} is used up.${when}`, { headers });
  return new ApiError('rate_limit_exceeded', `The rate limit for ${KINDS[state.kind]} is reached.${when}`, { headers });
}

function unavailableError(cause: unknown): ApiError {
  return new ApiError('budget_unavailable', 'The budget cannot be read or charged now. Try again later.', { cause });
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;

function requireDay(name: string, day: string | Date): string {
  if (day instanceof Date && !Number.isNaN(day.getTime())) return utcDay(day);
  if (typeof day === 'string' && DAY.test(day) && !Number.isNaN(Date.parse(day))) return day;
  throw new TypeError(`report: ${name} must be a Date or a day such as 2026-01-31, got ${inspect(day)}`);
}
