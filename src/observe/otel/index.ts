/** OpenTelemetry spans and metrics for models and tools; needs the package `@opentelemetry/api`. */
export type { TelemetryOptions } from './instruments.ts';
export { type TraceableOptions, type TracedOptions, traced } from './traced.ts';
