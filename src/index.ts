/** The OpenAI Responses API for Express apps, over any Chat Completions server. */

export * from './common.ts';
export type { Repair, RepairCode } from './engine/history/repair.ts';
export { chatCompletionsRouter } from './hosts/express/chat-completions-router.ts';
export type { Scope } from './hosts/express/handle.ts';
export { messagesRouter } from './hosts/express/messages-router.ts';
export { responsesRouter } from './hosts/express/responses-router.ts';
export type { DrainableRouter, RouterOptions } from './hosts/express/router.ts';
export type { HostMiddleware, NodeMiddleware } from './hosts/middleware/as-middleware.ts';
export type { Dialect } from './hosts/middleware/dialect.ts';
export { type GuardMiddlewareOptions, guard } from './hosts/middleware/guard.ts';
export { type HeartbeatMiddlewareOptions, heartbeat } from './hosts/middleware/heartbeat.ts';
export { injectTools } from './hosts/middleware/inject-tools.ts';
export { loadHistory } from './hosts/middleware/load-history.ts';
export type { MiddlewareOptions } from './hosts/middleware/options.ts';
export { PASSED_PATHS, type PassThroughOptions, passThroughRouter } from './hosts/middleware/pass-through.ts';
export { recordTurn } from './hosts/middleware/record-turn.ts';
export { type RunToolsOptions, runTools } from './hosts/middleware/run-tools.ts';
export { type ValidateMessagesOptions, validateMessages } from './hosts/middleware/validate-messages.ts';
export type { NodeHandler } from './hosts/node/handler-answer.ts';
export type { NodeRequest, ScopeOf } from './hosts/node/node-request.ts';
export type { ServerProtocol } from './ports/tool-provider.ts';
export type { Failure } from './server/requests/health.ts';
export type { ApiRequest, ServedApi } from './server/served-routes.ts';
export type { RouterStatus } from './server/status.ts';
export { inProcessEngine } from './stores/queues/in-process/in-process-engine.ts';
