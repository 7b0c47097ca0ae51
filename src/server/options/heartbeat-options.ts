/** The options of heartbeats, which routers and a middleware have. */

import { anyMilliseconds, checkOptions, isOneOf, type OptionCheck } from '../../ports/host/options-check.ts';
import type { WantedHeartbeat } from '../../ports/turn-context.ts';

/** How idle time on an event stream is filled. */
export interface HeartbeatOptions {
  /** Milliseconds without output before a heartbeat. Default: 15,000. */
  readonly intervalMs?: number | undefined;
  /**
   * `comment`: SSE comments, each fourth in a row OpenAI's `keepalive` event, since some clients' timers do not see
   * comments. `keepalive`: only that event. `ping`: a `ping` event, which some strict clients refuse. Default:
   * `comment`.
   */
  readonly style?: 'comment' | 'keepalive' | 'ping' | undefined;
}

/** A time for a timer, or `Infinity` for none. */
export const millisecondsOrNever: OptionCheck = (value) =>
  value === Number.POSITIVE_INFINITY || anyMilliseconds(value) === true || `${anyMilliseconds(0)}, or Infinity`;

/** The heartbeat with its defaults; throws a `TypeError` for a bad option. `more` checks the options that only the owner has. */
export function heartbeatSettings(
  owner: string,
  options: HeartbeatOptions,
  more: Readonly<Record<string, OptionCheck>> = {},
): Required<WantedHeartbeat> {
  const style = isOneOf('comment', 'keepalive', 'ping');
  checkOptions(owner, options, { intervalMs: anyMilliseconds, style, ...more });
  return { intervalMs: options.intervalMs ?? 15_000, style: options.style ?? 'comment' };
}
