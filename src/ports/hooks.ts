/** The host's own logging and metrics: told what happens, never able to break it. */

import type { ApiError } from '../protocol/errors.ts';
import type { Usage } from '../protocol/events.ts';
import type { Note } from '../protocol/note.ts';
import { isPromise } from '../protocol/record.ts';
import { warnOfError } from './host/error-warning.ts';
import { processWarning } from './host/warner.ts';

/** One request, before the model is asked. */
export interface RequestInfo {
  readonly requestId: string;
  readonly responseId: string;
  readonly scope: string;
  readonly model: string;
  readonly stream: boolean;
  /** Whether the client does not wait for it. */
  readonly background: boolean;
}

/** What the model server said of its answer; a field that it did not say is absent. */
export interface UpstreamInfo {
  /** The model that answered, of several calls the last. */
  readonly upstreamModel?: string;
  /** The usage of the last call, as it came. */
  readonly upstreamUsage?: Readonly<Record<string, unknown>>;
  /** Of all calls that named a cost, in dollars. */
  readonly cost?: number;
}

/** One turn that ended by itself: completed, incomplete or failed. */
export interface ResponseInfo extends RequestInfo, UpstreamInfo {
  readonly status: 'completed' | 'incomplete' | 'failed';
  readonly usage: Usage;
  readonly durationMs: number;
}

/** One call of a tool that the server ran. */
export interface ToolCallInfo {
  readonly requestId: string;
  readonly scope: string;
  readonly server: string;
  readonly name: string;
  readonly durationMs: number;
  /** What the model was told went wrong. */
  readonly error: string | undefined;
}

/** What became of a call that needs the user's approval; `refused` is an approval that did not count. */
export interface ApprovalInfo {
  readonly requestId: string;
  readonly scope: string;
  /** Undefined, as `name`, where the answer is to a request that is not known. */
  readonly server: string | undefined;
  readonly name: string | undefined;
  readonly approvalRequestId: string;
  readonly decision: 'requested' | 'approved' | 'denied' | 'refused';
  /** Whether the option `approval` asked for it. */
  readonly forcedByHost: boolean;
}

/** Functions of the host; each is optional and none may throw (what one throws is a process warning). */
export interface Hooks {
  readonly onRequest?: ((info: RequestInfo) => void) | undefined;
  readonly onResponse?: ((info: ResponseInfo) => void) | undefined;
  readonly onToolCall?: ((info: ToolCallInfo) => void) | undefined;
  /** Every step of an approval, for the host's audit. */
  readonly onApproval?: ((info: ApprovalInfo) => void) | undefined;
  /**
   * Every error a client is answered with, and store failures that `onStoreError: 'continue'` hides from it. Without it,
   * those that are the server's are process warnings, at most one a second of each code.
   */
  readonly onError?: ((error: ApiError, info: { readonly requestId: string }) => void) | undefined;
  /** What was left out of a request without failing it. */
  readonly onNote?: ((note: Note, info: { readonly requestId: string }) => void) | undefined;
}

/**
 * Calls a hook; its failure is the host's to see, not the client's. An error of the server's that no hook is there for
 * is a process warning: nobody else would ever know.
 */
export function notify<Name extends keyof Hooks>(
  hooks: Hooks,
  name: Name,
  ...args: Parameters<NonNullable<Hooks[Name]>>
): void {
  // The cast: that is what this hook is told.
  if (name === 'onError' && !hooks.onError) return warnOfError(...(args as Parameters<NonNullable<Hooks['onError']>>));
  guarded(`hooks.${name}`, () => (hooks[name] as ((...values: readonly unknown[]) => unknown) | undefined)?.(...args));
}

/** Calls a function of the host's that may break nothing: what it throws, now or later, is a process warning. */
export function guarded(name: string, run: () => unknown): void {
  const warn = (error: unknown) => processWarning(`${name} threw: ${error}`);
  try {
    const answer = run();
    if (isPromise(answer)) answer.then(undefined, warn);
  } catch (error) {
    warn(error);
  }
}
