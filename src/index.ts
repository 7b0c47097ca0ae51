/** The OpenAI Responses API for Express apps, over any Chat Completions server. */
export type { DrainOptions } from './core/activity.ts';
export { ApiError, type ApiErrorOptions, type ErrorBody, type ErrorCode } from './core/errors.ts';
export type { Hooks, RequestInfo, ResponseInfo, ToolCallInfo } from './core/hooks.ts';
export type { Item, LogProb, TopLogProb, UrlCitation } from './core/items.ts';
export type { Limits } from './core/limits.ts';
export type { Note } from './core/note.ts';
export type { CoreOptions, HeartbeatOptions, ToolsOf } from './core/options.ts';
export type { MaybePromise, ResponseKey, ResponseStore, StoredResponse } from './core/store.ts';
export {
  type AnyFunctionTool,
  type ExecuteContext,
  type FunctionTool,
  functionTool,
  functionTools,
} from './core/tools/function-tools.ts';
export type { ProvidedTool, ToolCall, ToolProvider, ToolResult } from './core/tools/provider.ts';
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
export { type MemoryStore, type MemoryStoreOptions, memoryStore } from './stores/memory.ts';
export { toWebHandler, type WebHandler, type WebHandlerOptions } from './web/to-web-handler.ts';
