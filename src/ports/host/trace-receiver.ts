/** Traces of agents, as OpenAI's agents SDKs export them, and what receives them. */
import type { JsonObject } from '../../protocol/record.ts';

/** One run of an agent's app: what its spans have in common. */
export interface AgentTrace {
  /** The client's id, such as `trace_0123…`; two tenants may use the same. */
  readonly id: string;
  /** The name of the workflow; empty if the client has none. */
  readonly name: string;
  /** What links several traces, such as a chat; null for none. */
  readonly groupId: string | null;
}

/** One step of a trace that has ended. */
export interface AgentSpan {
  /** The client's id, such as `span_0123…`. */
  readonly id: string;
  /** The `id` of its trace. */
  readonly traceId: string;
  /** The span that it is a part of; null for none. */
  readonly parentId: string | null;
  /** In milliseconds since the epoch, by the client's clock. */
  readonly startedAt: number;
  /** Likewise, and never earlier. */
  readonly endedAt: number;
  /** What the step was, such as `agent`, `function` or `response`, with its own fields. */
  readonly data: JsonObject & {
    /** The kind of step. */
    readonly type: string;
  };
  /** What it failed with; null if it did not. */
  readonly error: string | null;
  /** The response or chat completion that it stands for, as the client names it; undefined for none. */
  readonly responseId: string | undefined;
}

/** What one request brings, of one tenant. */
export interface TraceBatch {
  /** The tenant. */
  readonly scope: string;
  /** The traces that began, in the order of arrival. */
  readonly traces: readonly AgentTrace[];
  /** Those that have not arrived before. */
  readonly spans: readonly AgentSpan[];
}

/** Receives traces: an inspector, `forwardTraces()` of `./otel`, or one of your own. */
export interface TraceReceiver {
  /** Takes them at once; what it throws is reported to `hooks.onError`, and the client does not hear of it. */
  receiveTraces(batch: TraceBatch): void;
}
