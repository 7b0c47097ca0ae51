/** OpenAI's headers about what is left. */
import type { PointsLeft } from './limiters.ts';

/** A limit, and what is left of it. */
export interface LimitState extends PointsLeft {
  readonly limit: number;
}

/** The headers of the limits that are set. */
export function rateLimitHeaders(states: {
  readonly requests: LimitState | undefined;
  readonly tokens: LimitState | undefined;
}): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const [name, state] of Object.entries(states)) {
    if (!state) continue;
    headers[`x-ratelimit-limit-${name}`] = String(state.limit);
    headers[`x-ratelimit-remaining-${name}`] = String(Math.floor(state.remainingPoints));
    headers[`x-ratelimit-reset-${name}`] = durationText(state.msBeforeNext);
  }
  return headers;
}

/** A time as OpenAI writes it: `250ms`, `1s`, `6m0s`, `1h0m0s`. */
export function durationText(ms: number): string {
  const milliseconds = Math.ceil(Math.max(ms, 0));
  if (milliseconds > 0 && milliseconds < 1000) return `${milliseconds}ms`;
  const seconds = Math.ceil(milliseconds / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const longer = hours > 0 ? `${hours}h${minutes}m` : minutes > 0 ? `${minutes}m` : '';
  return `${longer}${seconds % 60}s`;
}
