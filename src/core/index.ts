/** Everything that needs no framework: both APIs as functions, the Web handler, and what they are configured with. */

export { type MemoryStore, type MemoryStoreOptions, memoryStore } from '../stores/memory.ts';
export { toWebHandler, type WebHandler, type WebHandlerOptions } from '../web/to-web-handler.ts';
export type { DrainOptions } from './activity.ts';
export { type Api, type ApiRequest, createChatCompletions, createResponses } from './api.ts';
export type { NodeHeaders } from './call.ts';
export type { DialectName } from './dialects/dialect.ts';
export { ApiError, type ApiErrorOptions, type ErrorBody, type ErrorCode } from './errors.ts';
export type { ApprovalInfo, Hooks, RequestInfo, ResponseInfo, ToolCallInfo } from './hooks.ts';
export type { Limits } from './limits.ts';
export type { Note } from './note.ts';
export type { CoreOptions, DialectOf, HeartbeatOptions, ToolsOf } from './options.ts';
export type { Reply } from './reply.ts';
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
} from './store.ts';
export { type ExecuteContext, type FunctionTool, functionTool, functionTools } from './tools/function-tools.ts';
export type { ApprovalPolicy, ApprovalQuestion } from './tools/gates.ts';
export type { ProvidedTool, ToolCall, ToolProvider, ToolResult } from './tools/provider.ts';
export type { RemoteServer, RemoteServers } from './tools/remote-servers.ts';
export { type ChatCompletionsOptions, chatCompletionsUpstream } from './upstream/chat-completions.ts';
export type { Upstream } from './upstream/upstream.ts';
