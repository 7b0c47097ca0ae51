/** The context of one request's guards: the request, its signal, and how their decisions are reported. */
import type { Guard, GuardDirection, GuardInfo } from '../../../ports/guard.ts';
import { ApiError } from '../../../protocol/errors.ts';
import type { Placeholders } from './placeholders.ts';

/** The request. */
export interface GuardContext {
  readonly scope: string;
  readonly requestId: string;
  readonly request: unknown;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
  /** Reports to the host's audit. */
  readonly report: (info: GuardInfo) => void;
  /** Reports a guard's failure that affects nothing. */
  readonly onFault: (guard: string, error: unknown) => void;
  /** The values that are restored in the answer. */
  readonly placeholders: Placeholders;
}

/** Where a text is. */
export interface GuardedPlace {
  readonly direction: GuardDirection;
  readonly place: string;
}

/** Thrown when a guard blocks a text. */
export class GuardBlocked extends Error {
  override readonly name = 'GuardBlocked';
  /** For the client. */
  readonly reason: string;

  constructor(reason: string) {
    super(reason);
    this.reason = reason;
  }
}

/** The error of a guard that failed and lets nothing pass; the client receives no details. */
export function guardFailed({ name }: Guard, cause: unknown): ApiError {
  return new ApiError('guard_failed', 'A check of this text failed, so it cannot be passed on.', {
    cause,
    advice: `The guard '${name}' failed: see the cause. Its option onFailure decides whether texts pass then.`,
  });
}

/** Reports what a guard did about some findings. */
export function reportFindings(
  { name }: Guard,
  rules: readonly string[],
  action: GuardInfo['action'],
  at: GuardedPlace,
  context: GuardContext,
): void {
  const counts = new Map<string, number>();
  for (const rule of rules) counts.set(rule, (counts.get(rule) ?? 0) + 1);
  const { requestId, scope } = context;
  for (const [rule, count] of counts) context.report({ requestId, scope, guard: name, rule, ...at, action, count });
}
