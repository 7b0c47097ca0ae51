/** A page that shows the last responses of your routers: the client's request, the requests to the model server, and how long each step took. */

export type { Admission, AdmittedTenant, Refusal } from '../../ports/host/admission.ts';
export type { AgentSpan, AgentTrace, TraceBatch, TraceReceiver } from '../../ports/host/trace-receiver.ts';
export { createInspector, type Inspector } from './create-inspector.ts';
export type { ObservableOptions } from './observing/observer.ts';
export type { WatchedContainers } from './recording/container-uses.ts';
export type { Redact } from './recording/request-text.ts';
export type { InspectorHandler } from './server/handler.ts';
export type { BatchSource, InspectorOptions, PlaygroundOptions } from './server/options.ts';
