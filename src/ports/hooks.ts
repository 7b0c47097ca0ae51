/** The host's own logging and metrics: they receive what happens, and can never break it. */

import type { ApiError } from '../protocol/errors.ts';
import type { Usage } from '../protocol/events.ts';
import type { Note } from '../protocol/note.ts';
import { isPromise } from '../protocol/record.ts';
import type { GuardInfo } from './guard.ts';
import { warnOfError } from './host/error-warning.ts';
import { processWarning } from './host/warner.ts';
import type { OnStep } from './step.ts';
import type { ServerProtocol, ToolProgress } from './tool-provider.ts';
import type { ModelAttempt, OnAttempt } from './upstream.ts';

/** One request, before the model is called. */
export interface RequestInfo {
  /** The value of the `x-request-id` header of the answer. */
  readonly requestId: string;
  /** The id that the response has in the API, such as `resp_…`. */
  readonly responseId: string;
  /** The tenant, as the `scope` option returns it. */
  readonly scope: string;
  /** The model that the request names. */
  readonly model: string;
  /** Whether the client asked for an event stream. */
  readonly stream: boolean;
  /** Whether the client does not wait for it. */
  readonly background: boolean;
}

/** The model server's metadata of its answer; a field that it did not send is absent. */
export interface UpstreamInfo {
  /** The model that answered; of several calls, that of the last. */
  readonly upstreamModel?: string;
  /** The host's name for the model server that answered, if the upstream chose among several; of several calls, the last. */
  readonly server?: string;
  /** The usage of the last call, unchanged. */
  readonly upstreamUsage?: Readonly<Record<string, unknown>>;
  /** The sum over all calls that reported a cost, in dollars. */
  readonly cost?: number;
}

/** One attempt to reach a model server, of a request that may make many. */
export interface AttemptInfo extends ModelAttempt {
  /** The value of the `x-request-id` header of the answer. */
  readonly requestId: string;
}

/** One turn that ended by itself: completed, incomplete or failed. */
export interface ResponseInfo extends RequestInfo, UpstreamInfo {
  /** How it ended. */
  readonly status: 'completed' | 'incomplete' | 'failed';
  /** The tokens of all model calls of the turn. */
  readonly usage: Usage;
  /** Milliseconds from the request to the end of the turn. */
  readonly durationMs: number;
}

/** One call of a tool that the server ran. */
export interface ToolCallInfo {
  /** The value of the `x-request-id` header of the answer. */
  readonly requestId: string;
  /** The tenant, as the `scope` option returns it. */
  readonly scope: string;
  /** The group of the tool, which clients see as `server_label`. */
  readonly server: string;
  /** The tool's name at its provider. */
  readonly name: string;
  /** The protocol of the tool's server, such as the era of MCP; absent if the provider does not report it. */
  readonly protocol?: ServerProtocol;
  /** Milliseconds that the call took. */
  readonly durationMs: number;
  /** The error message that the model received. */
  readonly error: string | undefined;
}

/** A call of a server-run tool that has not ended. */
export interface ToolProgressInfo extends Omit<ToolCallInfo, 'error'>, ToolProgress {}

/** The result of a call that needs the user's approval; `refused` is an approval that was not accepted. */
export interface ApprovalInfo {
  /** The value of the `x-request-id` header of the answer. */
  readonly requestId: string;
  /** The tenant, as the `scope` option returns it. */
  readonly scope: string;
  /** Undefined, like `name`, if the answer belongs to an unknown request. */
  readonly server: string | undefined;
  /** The tool's name at its provider. */
  readonly name: string | undefined;
  /** The id of the `mcp_approval_request` item. */
  readonly approvalRequestId: string;
  /** What was asked or answered. */
  readonly decision: 'requested' | 'approved' | 'denied' | 'refused';
  /** Whether the option `approval` required it. */
  readonly forcedByHost: boolean;
}

/** One request with its content, before the model is called. */
export interface ObservedTurn extends RequestInfo {
  /** The API that the client speaks. */
  readonly api: 'responses' | 'chat-completions' | 'messages';
  /** The body as the router received it, in the words of that API, with whatever secrets the client wrote into it. */
  readonly body: unknown;
  /** The signal of all its model calls; aborted when the answer is no longer wanted. */
  readonly signal: AbortSignal;
}

/** An event of a turn; its other fields are this package's own, and may change with any version. */
export interface ObservedEvent {
  /** What happens, such as `item-start` or `turn-end`. */
  readonly type: string;
}

/** Receives a turn's events, each batch before the client does. */
export type ReceiveEvents = (events: readonly ObservedEvent[]) => void;

/** What an error or a note is about. */
export interface ReportInfo {
  /** The value of the `x-request-id` header of the answer. */
  readonly requestId: string;
  /** The tenant, as the `scope` option returns it; absent where it is not known, as of a request whose credentials are refused. */
  readonly scope?: string;
  /** The id that the response has in the API; absent where there is none, as of a request that is refused before. */
  readonly responseId?: string;
}

/** What a report is about; a request whose tenant is not known has an empty scope. */
export function reportInfo(
  { requestId, scope }: { readonly requestId: string; readonly scope: string },
  responseId?: string,
): ReportInfo {
  return { requestId, ...(scope === '' ? {} : { scope }), ...(responseId === undefined ? {} : { responseId }) };
}

/** Functions of the host; each is optional and none may throw (an error that one throws becomes a line of the log, or a process warning). */
export interface Hooks {
  /** Runs for each valid request, before the model is called. */
  readonly onRequest?: ((info: RequestInfo) => void) | undefined;
  /**
   * Runs for each valid request, before `onRequest`, with the request's content. The function that it returns receives the
   * events of a turn; it runs for every batch, so it must be quick. Chat completions have no events, and neither has a
   * request of the Messages API that a model server answers itself.
   */
  readonly onTurn?: ((turn: ObservedTurn) => ReceiveEvents | undefined) | undefined;
  /** Runs when a turn has ended by itself; not if its client left. */
  readonly onResponse?: ((info: ResponseInfo) => void) | undefined;
  /** Runs before each attempt to reach a model server, with the server's name and with what failed before it. */
  readonly onAttempt?: ((info: AttemptInfo) => void) | undefined;
  /** Runs after each call of a tool that the server ran. */
  readonly onToolCall?: ((info: ToolCallInfo) => void) | undefined;
  /** Runs when a tool reports its progress, at most ten times a second for each call. */
  readonly onToolProgress?: ((info: ToolProgressInfo) => void) | undefined;
  /** Every step of an approval, for the host's audit. */
  readonly onApproval?: ((info: ApprovalInfo) => void) | undefined;
  /** Everything that a guard has found or done, for the host's audit; it never receives the text. */
  readonly onGuard?: ((info: GuardInfo) => void) | undefined;
  /**
   * Every error that a client receives, and store failures that `onStoreError: 'continue'` hides from it. Without it
   * and without a `logger`, server errors become process warnings, at most one a second of each code.
   */
  readonly onError?: ((error: ApiError, info: ReportInfo) => void) | undefined;
  /** Parts of a request that were left out without failing it. */
  readonly onNote?: ((note: Note, info: ReportInfo) => void) | undefined;
}

/** What this package itself records of the same events, for the host's log and for the status. None of it throws. */
export interface Recorder {
  onResponse(info: ResponseInfo): void;
  onToolCall(info: ToolCallInfo): void;
  onError(error: ApiError, info: ReportInfo): void;
  /** Undefined while nobody reads steps, so that a step costs one check. */
  readonly onStep: OnStep | undefined;
  /** Reports an error that a function of the host's threw where it may break nothing. */
  onFault(name: string, error: unknown): void;
}

/** The hooks as every room receives them. */
export interface Reports extends Hooks {
  readonly recorder?: Recorder | undefined;
}

/**
 * Calls a hook; its failure is reported to the host, not to the client. A server error that nothing records becomes a
 * process warning: it would otherwise go unnoticed.
 */
export function notify<Name extends keyof Hooks>(
  hooks: Reports,
  name: Name,
  ...args: Parameters<NonNullable<Hooks[Name]>>
): void {
  const { recorder } = hooks;
  // The casts: these functions receive these arguments.
  if (recorder) (recorder as Recorded)[name]?.(...args);
  else if (name === 'onError' && !hooks.onError) warnOfError(...(args as Parameters<NonNullable<Hooks['onError']>>));
  if (hooks[name]) callHookSafely(`hooks.${name}`, () => (hooks as Recorded)[name]?.(...args), recorder);
}

/** Shows a turn to the host; returns what receives the turn's events, and never throws. */
export function observed(turn: () => ObservedTurn, hooks: Reports): ReceiveEvents | undefined {
  if (!hooks.onTurn) return undefined;
  let receive: ReceiveEvents | undefined;
  callHookSafely(
    'hooks.onTurn',
    () => {
      receive = hooks.onTurn?.(turn());
    },
    hooks.recorder,
  );
  return receive && ((events) => callHookSafely('hooks.onTurn', () => receive?.(events), hooks.recorder));
}

type Recorded = Partial<Record<keyof Hooks, (...values: readonly unknown[]) => unknown>>;

/**
 * Calls a function of the host's that may break nothing: an error that it throws, now or later, becomes a line of the
 * host's log, or a process warning.
 */
export function callHookSafely(name: string, run: () => unknown, recorder?: Pick<Recorder, 'onFault'>): void {
  const failed = (error: unknown) =>
    recorder ? recorder.onFault(name, error) : processWarning(`${name} threw: ${error}`);
  try {
    const answer = run();
    if (isPromise(answer)) answer.then(undefined, failed);
  } catch (error) {
    failed(error);
  }
}

/** Reports the attempts of a request's model calls; undefined while nobody reads them. */
export function attemptReporter(requestId: string, hooks: Reports): OnAttempt | undefined {
  const onStep = hooks.recorder?.onStep;
  if (!onStep && !hooks.onAttempt) return undefined;
  return (made) => {
    const { host, ...more } = made;
    // In the order of a log line.
    onStep?.({ name: 'upstream asked', requestId, host, ...more });
    notify(hooks, 'onAttempt', { requestId, ...made });
  };
}
