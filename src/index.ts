/** The OpenAI Responses API for Express apps, over any Chat Completions server. */

export * from './common.ts';
export type { Repair, RepairCode } from './engine/history/repair.ts';
export { inProcessEngine } from './engines/in-process/in-process-engine.ts';
export { chatCompletionsRouter } from './express/chat-completions-router.ts';
export type { Scope } from './express/handle.ts';
export { messagesRouter } from './express/messages-router.ts';
export { responsesRouter } from './express/responses-router.ts';
export type { DrainableRouter, RouterOptions } from './express/router.ts';
export type { HostMiddleware, NodeMiddleware } from './middleware/as-middleware.ts';
export type { Dialect } from './middleware/dialect.ts';
export { type GuardMiddlewareOptions, guard } from './middleware/guard.ts';
export { type HeartbeatMiddlewareOptions, heartbeat } from './middleware/heartbeat.ts';
export { injectTools } from './middleware/inject-tools.ts';
export { loadHistory } from './middleware/load-history.ts';
export type { MiddlewareOptions } from './middleware/options.ts';
export { PASSED_PATHS, type PassThroughOptions, passThroughRouter } from './middleware/pass-through.ts';
export { recordTurn } from './middleware/record-turn.ts';
export { type RunToolsOptions, runTools } from './middleware/run-tools.ts';
export { type ValidateMessagesOptions, validateMessages } from './middleware/validate-messages.ts';
export type { NodeHandler } from './node/handler-answer.ts';
export type { NodeRequest, ScopeOf } from './node/node-request.ts';
export type { ServerProtocol } from './ports/tool-provider.ts';
export type { RouterStatus } from './server/status.ts';
export type { Failure } from './server/vitals.ts';
