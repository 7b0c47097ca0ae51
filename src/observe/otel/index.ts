/** OpenTelemetry spans and metrics for models and tools; needs the package `@opentelemetry/api`. */
export type { TelemetryOptions } from './instruments.ts';
export { tracedTools } from './traced-tools.ts';
export { type TracedUpstreamOptions, tracedUpstream } from './traced-upstream.ts';
