/** The OpenAI Responses API for Express apps, over any Chat Completions server. */
export type { DrainOptions } from './core/activity.ts';
export type { CompactionOptions } from './core/compaction/settings.ts';
export type { DialectName } from './core/dialects/dialect.ts';
export { ApiError, type ApiErrorOptions, type ErrorBody, type ErrorCode } from './core/errors.ts';
export type { ApprovalInfo, Hooks, RequestInfo, ResponseInfo, ToolCallInfo } from './core/hooks.ts';
export type { Item, LogProb, TopLogProb, UrlCitation } from './core/items.ts';
export type { Limits } from './core/limits.ts';
export type { Note } from './core/note.ts';
export type { CoreOptions, DialectOf, HeartbeatOptions, ToolsOf } from './core/options.ts';
export type { Repair, RepairCode } from './core/prepare/repair.ts';
export {
  type ConversationStore,
  type ItemPage,
  type ItemPageQuery,
  type MaybePromise,
  type ResponseKey,
  type ResponseStore,
  type StoredConversation,
  type StoredResponse,
  TooManyBytes,
} from './core/store.ts';
export type { TokenOptions } from './core/tokens/settings.ts';
export {
  type AnyFunctionTool,
  type ExecuteContext,
  type FunctionTool,
  functionTool,
  functionTools,
} from './core/tools/function-tools.ts';
export type { ApprovalPolicy, ApprovalQuestion } from './core/tools/gates.ts';
export type { ProvidedTool, ToolCall, ToolProvider, ToolResult } from './core/tools/provider.ts';
export type { RemoteServer, RemoteServers } from './core/tools/remote-servers.ts';
export type { FinishReason, ModelEvent, Usage } from './core/turn/events.ts';
export { type ChatCompletionsOptions, chatCompletionsUpstream } from './core/upstream/chat-completions.ts';
export type {
  ModelRequest,
  TextFormat,
  ToolChoice,
  ToolDefinition,
  Upstream,
  UpstreamCall,
} from './core/upstream/upstream.ts';
export type { Scope } from './express/call-of.ts';
export { chatCompletionsRouter } from './express/chat-completions-router.ts';
export { responsesRouter } from './express/responses-router.ts';
export type { DrainableRouter, RouterOptions } from './express/router.ts';
export type { NodeMiddleware } from './middleware/as-middleware.ts';
export type { Dialect } from './middleware/dialect.ts';
export { heartbeat } from './middleware/heartbeat.ts';
export { injectTools } from './middleware/inject-tools.ts';
export { loadHistory } from './middleware/load-history.ts';
export type { MiddlewareOptions } from './middleware/options.ts';
export { recordTurn } from './middleware/record-turn.ts';
export { type RunToolsOptions, runTools } from './middleware/run-tools.ts';
export { type ValidateMessagesOptions, validateMessages } from './middleware/validate-messages.ts';
export type { NodeHandler } from './node/handler-answer.ts';
export type { NodeRequest } from './node/node-call.ts';
export { type MemoryStore, type MemoryStoreOptions, memoryStore } from './stores/memory.ts';
export { toWebHandler, type WebHandler, type WebHandlerOptions } from './web/to-web-handler.ts';
