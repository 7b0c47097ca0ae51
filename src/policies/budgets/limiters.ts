/** The limiters of a budget: those of `rate-limiter-flexible`, or a bounded one in the memory of the process. */
import { inspect } from 'node:util';
import { isRecord } from '../../protocol/record.ts';
import { RecentMap } from './recent-map.ts';

/** What is left of a window, as `rate-limiter-flexible` reports it. */
export interface PointsLeft {
  /** Points that may still be consumed; never negative. */
  readonly remainingPoints: number;
  /** Milliseconds until the window ends; -1 if it never does. */
  readonly msBeforeNext: number;
}

/** The part of a limiter of `rate-limiter-flexible` that is used. */
export interface PointLimiter {
  /** The points of one window; required, though the types of `BurstyRateLimiter` do not name them. */
  readonly points?: number;
  /** Takes points. Rejects with what is left if there are too few, and with an `Error` if its database fails. */
  consume(key: string, points?: number): Promise<PointsLeft>;
  /** What is left; null for a key of which nothing was taken. */
  get?(key: string): Promise<PointsLeft | null>;
  /** Takes points even if there are too few. */
  penalty?(key: string, points?: number): Promise<PointsLeft>;
}

/** A limit in the memory of the process: so many points in so many seconds. */
export interface LimitWindow {
  /** The points of one window. */
  readonly points: number;
  /** Seconds. */
  readonly duration: number;
}

/** A limit of cost in the memory of the process: so many dollars in so many seconds. */
export interface DollarWindow {
  /** The dollars of one window, such as 0.05; counted in millionths. */
  readonly dollars: number;
  /** Seconds. */
  readonly duration: number;
}

/** A limiter that can be charged after a call. */
export type Limiter = Required<PointLimiter>;

/** The most keys of a memory limiter; the least recently used is dropped first. */
const MAX_KEYS = 100_000;

const REQUEST_METHODS = ['consume'] as const;
const ALL_METHODS = ['consume', 'get', 'penalty'] as const;

const POINTS_PER_DOLLAR = 1_000_000;

/** The points of an amount: whole millionths, since databases count whole points and sums of fractions are not exact. */
export function dollarPoints(dollars: number): number {
  return Math.round(dollars * POINTS_PER_DOLLAR);
}

/** The limiter of an option; throws a `TypeError` that says what to give. */
export function readLimiter(option: string, value: unknown): Limiter {
  if (option === COST) return readCostLimiter(value);
  const methods = option === 'limits.requests' ? REQUEST_METHODS : ALL_METHODS;
  if (isRecord(value) && isPositive(value.points)) {
    // The cast: it has the methods that are called.
    if (methods.every((method) => typeof value[method] === 'function')) return value as unknown as Limiter;
    if (isPositive(value.duration) && value.consume === undefined)
      return new MemoryLimiter({ points: value.points, duration: value.duration });
  }
  throw new TypeError(
    `tokenBudget: ${option} must be { points, duration } with a duration in seconds, or a limiter with ${methods.join(', ')}, such as RateLimiterRedis of rate-limiter-flexible (npm install rate-limiter-flexible), got ${inspect(value, { depth: 0 })}`,
  );
}

const COST = 'limits.cost';

/** The limiter of dollars; a host's own counts millionths. Points of the host's are refused, as they could be either. */
function readCostLimiter(value: unknown): Limiter {
  if (isRecord(value) && ALL_METHODS.every((method) => typeof value[method] === 'function') && isPositive(value.points))
    // The cast: it has the methods that are called.
    return value as unknown as Limiter;
  if (isRecord(value) && isDollars(value.dollars) && isPositive(value.duration) && value.points === undefined)
    return new MemoryLimiter({ points: dollarPoints(value.dollars), duration: value.duration });
  throw new TypeError(
    `tokenBudget: ${COST} must be { dollars, duration } with a duration in seconds, or a limiter with ${ALL_METHODS.join(', ')} whose points are millionths of a dollar, such as RateLimiterRedis of rate-limiter-flexible (npm install rate-limiter-flexible), got ${inspect(value, { depth: 0 })}`,
  );
}

/** Whether the value is an amount that can be counted: a millionth at least. */
export function isDollars(value: unknown): value is number {
  return isPositive(value) && dollarPoints(value) >= 1;
}

function isPositive(value: unknown): value is number {
  return typeof value === 'number' && value > 0 && Number.isFinite(value);
}

/** The points that were taken in the present window. */
interface Window {
  taken: number;
  /** Milliseconds since the epoch. */
  readonly endsAt: number;
}

/** Counts in fixed windows, each of which begins with the first points that are taken. */
class MemoryLimiter implements Limiter {
  readonly points: number;
  private readonly durationMs: number;
  private readonly windows = new RecentMap<Window>(MAX_KEYS);

  constructor({ points, duration }: LimitWindow) {
    this.points = points;
    this.durationMs = duration * 1000;
  }

  async consume(key: string, points = 1): Promise<PointsLeft> {
    const window = this.take(key, points);
    const left = this.leftIn(window);
    if (window.taken > this.points) throw left;
    return left;
  }

  async get(key: string): Promise<PointsLeft | null> {
    const window = this.current(key);
    return window ? this.leftIn(window) : null;
  }

  async penalty(key: string, points = 1): Promise<PointsLeft> {
    return this.leftIn(this.take(key, points));
  }

  private take(key: string, points: number): Window {
    const window = this.current(key) ?? { taken: 0, endsAt: Date.now() + this.durationMs };
    window.taken += points;
    this.windows.set(key, window);
    return window;
  }

  private current(key: string): Window | undefined {
    const window = this.windows.get(key);
    return window && window.endsAt > Date.now() ? window : undefined;
  }

  private leftIn({ taken, endsAt }: Window): PointsLeft {
    return { remainingPoints: Math.max(this.points - taken, 0), msBeforeNext: Math.max(endsAt - Date.now(), 0) };
  }
}
