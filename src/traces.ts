/** Traces of OpenAI's agents SDKs: the router that takes them, for an inspector and for OpenTelemetry. */
export type { Api } from './apis/endpoint/api.ts';
export { type TraceQuota, type TracesOptions, tracesApi } from './apis/traces/traces-api.ts';
export type { HostRequest } from './hosts/express/host-request.ts';
export { type TracesRouterOptions, tracesRouter } from './hosts/express/traces-router.ts';
export type { Hooks } from './ports/hooks.ts';
export type { LogFields, Logger } from './ports/host/logger.ts';
export type { AgentSpan, AgentTrace, TraceBatch, TraceReceiver } from './ports/host/trace-receiver.ts';
