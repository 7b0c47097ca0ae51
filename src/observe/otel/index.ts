/** OpenTelemetry spans and metrics for models and tools; needs the package `@opentelemetry/api`. */
export type { AgentSpan, AgentTrace, TraceBatch, TraceReceiver } from '../../ports/host/trace-receiver.ts';
export { type ForwardTracesOptions, forwardTraces } from './forward-traces.ts';
export type { TelemetryOptions } from './instruments.ts';
export { type TraceableOptions, type TracedOptions, traced } from './traced.ts';
