/** The names that the entries with and without Express have in common, in one list. */

export type { RestoredRequest } from './apis/background/stored-request.ts';
export type { Api, ApiStatus, EndpointFinder, InnerRequest } from './apis/endpoint/api.ts';
export type { MultiAgentOptions } from './engine/agents/settings.ts';
export type { CompactionOptions } from './engine/compaction/settings.ts';
export type { DrainOptions } from './engine/request/activity.ts';
export type { NodeHeaders } from './engine/request/endpoint-request.ts';
export type { TextCounter } from './engine/tokens/tokenizer.ts';
export type { WebhookDelivery } from './engine/webhooks/deliveries.ts';
export type { WebhookEndpoint } from './engine/webhooks/endpoints.ts';
export type { WebhookEvent } from './engine/webhooks/events.ts';
export type { WebhookSecrets } from './engine/webhooks/sign.ts';
export type { Webhooks } from './engine/webhooks/webhooks.ts';
export type { AnyRequest, WebSocketRequest } from './hosts/node/host-requests.ts';
export type {
  BackgroundEngine,
  BackgroundWorker,
  ClaimedRun,
  SubmitTerms,
} from './ports/background/background-engine.ts';
export type {
  ClaimedLog,
  EventLog,
  LogAppend,
  LogHead,
  LogPage,
  NewEventLog,
} from './ports/background/event-log.ts';
export type { DialectName } from './ports/dialect.ts';
export type { FileFetcher } from './ports/files/file-fetcher.ts';
export type {
  ByteRange,
  FileDetails,
  FilePage,
  FilePageQuery,
  FileStore,
  FileUpload,
  FileUsage,
  StoredFile,
} from './ports/files/file-store.ts';
export type {
  Guard,
  GuardDirection,
  GuardFinding,
  GuardInfo,
  GuardMode,
  GuardOptions,
  GuardScan,
  GuardSubject,
  GuardVerdict,
} from './ports/guard.ts';
export type {
  ApprovalInfo,
  AttemptInfo,
  Hooks,
  ObservedEvent,
  ObservedTurn,
  ReceiveEvents,
  ReportInfo,
  RequestInfo,
  ResponseInfo,
  ToolCallInfo,
  ToolProgressInfo,
  UpstreamInfo,
} from './ports/hooks.ts';
export type { LogFields, Logger } from './ports/host/logger.ts';
export type { Prompt, PromptQuery, PromptsOf } from './ports/prompts.ts';
export type { RemoteServer, RemoteServers } from './ports/remote-servers.ts';
export type {
  AppendAnswer,
  AppendTerms,
  ConversationStore,
  ItemPage,
  ItemPageQuery,
  MaybePromise,
  ResponseKey,
  ResponseStore,
  StoredConversation,
  StoredResponse,
  TurnFence,
} from './ports/store.ts';
export { StoreError, type StoreErrorCode } from './ports/store-error.ts';
export type {
  ApprovalPolicy,
  ApprovalQuestion,
  ProvidedTool,
  ToolCall,
  ToolFile,
  ToolProgress,
  ToolProvider,
  ToolResult,
  ToolsOf,
  ToolsRequest,
  Workspace,
} from './ports/tool-provider.ts';
export type {
  ChatBatch,
  ModelAttempt,
  ModelServerStatus,
  OnAttempt,
  PassedAnswer,
  PassedRequest,
  Upstream,
  UpstreamCall,
  UpstreamLimits,
  WireTap,
} from './ports/upstream.ts';
export type { ReasoningField } from './protocol/chat-completions/reasoning-fields.ts';
export { ApiError, type ApiErrorOptions, type ErrorBody, type ErrorCode } from './protocol/errors.ts';
export type { FinishReason, ModelEvent, RawChunk, Usage, WireEvent } from './protocol/events.ts';
export type {
  Annotation,
  CodeOutput,
  ContainerFileCitation,
  FileCitation,
  FilePassage,
  GeneratedImage,
  ImageDetails,
  Item,
  LogProb,
  ShellOutput,
  TopLogProb,
  UrlCitation,
  UrlSource,
  WebAction,
  WebResult,
  WrittenFile,
} from './protocol/items.ts';
export type { ModelFacts } from './protocol/model-facts.ts';
export type {
  ModelRequest,
  Moderation,
  NativeRequest,
  NativeTool,
  PromptCacheOptions,
  TextFormat,
  ToolChoice,
  ToolDefinition,
} from './protocol/model-request.ts';
export type { Note } from './protocol/note.ts';
export type { JsonObject } from './protocol/record.ts';
export type { Reply } from './protocol/reply.ts';
export type { CallIdForm } from './protocol/tool-calls/names/call-ids.ts';
export type { SchemaDialect } from './protocol/tool-schemas/dialects.ts';
export type { CloseOptions } from './server/apis-end.ts';
export type { ApisOptions, ObservingInspector } from './server/apis-options.ts';
export type { OpenStatus } from './server/apis-status.ts';
export type { ClosableServer } from './server/close-parts.ts';
export type { OpenResponses } from './server/open-apis.ts';
export type { BackgroundOptions } from './server/options/background-options.ts';
export type { FileOptions } from './server/options/file-options.ts';
export type { HeartbeatOptions } from './server/options/heartbeat-options.ts';
export type {
  LimitOptions,
  ModelLimits,
  RequestLimits,
  ToolLimits,
  TurnLimits,
} from './server/options/limit-options.ts';
export type { CoreOptions, DialectOf } from './server/options/options.ts';
export type { Prompts } from './server/options/prompt-source.ts';
export type { ShowOptions } from './server/options/show-options.ts';
export type { Failure } from './server/requests/health.ts';
export type { ApiRequest } from './server/served-routes.ts';
export type { RouterStatus } from './server/status.ts';
export type { MemoryConversations } from './stores/memory/conversations.ts';
export { type MemoryStore, type MemoryStoreOptions, memoryStore } from './stores/memory/memory-store.ts';
export {
  type AnyFunctionTool,
  type ExecuteContext,
  type FunctionTool,
  type FunctionToolsOptions,
  functionTool,
  functionTools,
} from './tools/functions/function-tools.ts';
export type { ToolArguments, ToolSchema, ZodSchema } from './tools/functions/tool-arguments.ts';
export {
  type ChatCompletionsOptions,
  type ChatCompletionsUpstream,
  chatCompletionsUpstream,
} from './upstreams/chat-completions/chat-completions-upstream.ts';
export type {
  Effort,
  ImageDetail,
  ProviderName,
  ProviderOption,
  RefusableField,
  ToolChoiceForms,
} from './upstreams/chat-completions/providers.ts';
export type { ModelsOption } from './upstreams/http/model-table.ts';
export type { ServerOptions, UpstreamHeaders } from './upstreams/http/server-options.ts';
