/** The port to a provider of tools that the server runs itself, and the host's policy on which of them need the user's approval. */
import { inspect } from 'node:util';
import type {
  CodeOutput,
  FilePassage,
  GeneratedImage,
  ShellOutput,
  WebResult,
  WrittenFile,
} from '../protocol/items.ts';
import type { ToolDefinition } from '../protocol/model-request.ts';
import { ignoreRejection, isRecord } from '../protocol/record.ts';
import { fromHost } from './host/host-error.ts';
import { type OptionCheck, withMethods } from './host/options-check.ts';
import type { ProgramRuntime } from './programs/program-runtime.ts';
import type { MaybePromise, ResponseKey } from './store.ts';

/** The protocol of a server of tools, such as MCP. */
export interface ServerProtocol {
  /** Such as `legacy` and `modern` of MCP. */
  readonly era: string;
  /** Such as `2026-07-28`; undefined if it is not known. */
  readonly version: string | undefined;
}

/** A tool as its provider defines it; `name` is the provider's own and need not be unique among providers. */
export interface ProvidedTool extends ToolDefinition {
  /** The tool's group, such as an MCP server; shown to clients as `server_label`. */
  readonly server: string;
  /** What the group is for, which a search for deferred tools reads and shows. */
  readonly serverDescription?: string | undefined;
  /**
   * Whether requests may name the tool's server in a tool of type `mcp`, with terms of theirs for its tools. Default: true.
   */
  readonly requestsMayName?: boolean | undefined;
  /** The type of tool by which a request enables it, such as `code_interpreter`; other requests are not offered it. */
  readonly requestedBy?: string | undefined;
  /** JSON Schema of the result's structured content; the provider checks it. */
  readonly outputSchema?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Whether the model is not offered the tool until it has found it with `tool_search`, or the request names it.
   * Default: false.
   */
  readonly deferred?: boolean | undefined;
  /** Whether the model receives the images that the tool makes, in this turn and in later ones. Default: true. */
  readonly modelSeesImages?: boolean | undefined;
  /** The protocol that the tool's server speaks, for the host's hooks. */
  readonly protocol?: ServerProtocol | undefined;
  /** Hints about the tool, passed on to clients unchanged. */
  readonly annotations?: Readonly<Record<string, unknown>> | undefined;
}

/** A file that belongs to the conversation, with a name without folders. */
export interface ToolFile {
  /** Without folders, such as `data.csv`. */
  readonly name: string;
  /** The content. */
  readonly data: Uint8Array;
}

/** The container for the code of a request. */
export interface Workspace {
  /** The container's id; two scopes may both have containers with the same id. */
  readonly container: string;
  /** Whether code of an earlier response ran there, so that the model may rely on its files and variables. */
  readonly used: boolean;
  /** The conversation's files, read on demand. */
  files(): readonly ToolFile[];
}

/** The request that tools are listed for. `Req` is the host framework's request. */
export interface ToolsRequest<Req = unknown> {
  /** The request's tenant; see the `scope` option. */
  readonly scope: string;
  /** The value of the `x-request-id` header of the answer. */
  readonly requestId: string;
  /** The host framework's own request, for its auth; undefined if there is none. */
  readonly request: Req;
}

/** The progress of a call, as its tool reports it. */
export interface ToolProgress {
  /** Grows with each step. */
  readonly progress: number;
  /** What `progress` will be at the end, if the tool knows. */
  readonly total?: number | undefined;
  /** What the tool does, for people. */
  readonly message?: string | undefined;
}

/** One call of a tool, its arguments already checked against the tool's schema. `Req` is the host framework's request. */
export interface ToolCall<Req = unknown> extends ToolsRequest<Req> {
  /** The `server` of the tool, as `list` returns it. */
  readonly server: string;
  /** The `name` of the tool, as `list` returns it. */
  readonly name: string;
  /** The parsed arguments. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /**
   * The maximum size of the result, in UTF-8 bytes; a larger one is a failed call. If absent, there is no limit here.
   */
  readonly outputBytes?: number;
  /** Reports progress, which keeps the call alive beyond `limits.tools.timeoutMs` and is passed to the hook `onToolProgress`. */
  readonly onProgress?: ((progress: ToolProgress) => void) | undefined;
  /** The images of the conversation as data URLs, oldest first, read on demand; set for a tool that `image_generation` requests. */
  readonly images?: (() => readonly string[]) | undefined;
  /** Shows the client an unfinished version of the image that the call makes; set if the request's `partial_images` wants some, and past that number it does nothing. */
  readonly onPartialImage?: ((image: GeneratedImage) => void) | undefined;
  /** The container of a `shell` for its calls; for other tools that of a `code_interpreter`, if the request enabled one. */
  readonly workspace?: Workspace;
  /** The request's own entry for a tool with `requestedBy`, such as `{ type: 'web_search', filters: … }`; not checked. */
  readonly settings?: Readonly<Record<string, unknown>> | undefined;
}

/** The result of a tool: text, or parts as in a `function_call_output` (`input_text`, `input_image`, `input_file`). */
export interface ToolResult {
  /** What the model receives. */
  readonly content: string | readonly Readonly<Record<string, unknown>>[];
  /** Whether the tool itself failed; the model receives `content`. */
  readonly isError?: boolean | undefined;
  /** The shown outputs of a code run. Default: `content` as its logs. */
  readonly outputs?: readonly CodeOutput[] | undefined;
  /** The shown outputs of the commands of a shell. Default: `content` as what one command printed. */
  readonly commandOutputs?: readonly ShellOutput[] | undefined;
  /** The shown results of a web search; links to these pages in the answer become citations. Default: `content` as a text. */
  readonly results?: readonly WebResult[] | undefined;
  /** The shown results of a search in files, which the answer may cite by the marks in `content`. Default: `content` as a text. */
  readonly passages?: readonly FilePassage[] | undefined;
  /** The files that the code wrote and that clients may fetch from its container; the answer's links to them become citations. */
  readonly written?: readonly WrittenFile[] | undefined;
  /** The image that the call made, for a tool that `image_generation` requests; `content` is then text. */
  readonly image?: GeneratedImage | undefined;
}

/** Whether the value has the form of a result: an object of another kind may have a `content`, too. */
export function isToolResult(value: unknown): value is ToolResult {
  if (!isRecord(value)) return false;
  const { content, isError, outputs, commandOutputs, results, passages, written, image } = value;
  return (
    isToolContent(content) &&
    (isError === undefined || typeof isError === 'boolean') &&
    (image === undefined || isRecord(image)) &&
    [outputs, commandOutputs, results, passages, written].every(isOptionalRecordList)
  );
}

/** Whether the value is a text, or a list of parts, each of some type. */
export function isToolContent(value: unknown): value is ToolResult['content'] {
  if (typeof value === 'string') return true;
  return Array.isArray(value) && value.every((part) => isRecord(part) && typeof part.type === 'string');
}

/** Whether the value is a list of objects, or left out. */
export function isOptionalRecordList(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.every(isRecord));
}

/** The state of a server that runs tools; without secrets. */
export interface ToolServerStatus {
  /** The `server_label` that clients see. */
  readonly label: string;
  /** `ready` if it is connected, `failed` if the last attempt to connect failed. */
  readonly state: string;
  /** How many tools it offers now. */
  readonly tools: number;
  /** Why it does not work. */
  readonly error?: string;
}

/**
 * Tools that the server runs. `list` runs on every request, so it must answer from a cache. A `call` that throws is a
 * failed call, whose message is passed to the model; it must end soon after the signal is aborted.
 */
export interface ToolProvider<Req = unknown> {
  /** A short name for messages. */
  readonly name: string;
  /** The tools that exist now, for this request. A rejection leaves them all out. */
  list(signal: AbortSignal, request?: ToolsRequest<Req>): MaybePromise<readonly ProvidedTool[]>;
  /**
   * Checks the request's own entry for a tool with `requestedBy`, before the model is called; `param` is the entry's place, such as
   * `tools[0]`. Throws an `ApiError` that refuses the request.
   */
  check?(settings: Readonly<Record<string, unknown>>, request: ToolsRequest<Req>, param: string): MaybePromise<void>;
  /**
   * What the model is told of a tool with `requestedBy` for the request's own entry, behind its description, such as the skills in
   * its container. Called after `check`; throws likewise.
   */
  about?(
    settings: Readonly<Record<string, unknown>>,
    request: ToolsRequest<Req>,
    param: string,
  ): MaybePromise<string | undefined>;
  /**
   * Why the tool cannot keep to the request's own entry for it, such as `external_web_access: false`; undefined if it can. The
   * model is not offered such a tool, and the host receives the text as a note. Without this method the tool is left out
   * wherever an entry has that field.
   */
  objection?(settings: Readonly<Record<string, unknown>>, tool: ProvidedTool): string | undefined;
  /**
   * Whether the tenant has the container that a request names, for a tool with `requestedBy` that runs in one. Throws
   * `container_expired`. Without this method only those of conversations and stored responses are found.
   */
  hasContainer?(key: ResponseKey): MaybePromise<boolean>;
  /** Runs one tool. `signal` is aborted when the client leaves or the call exceeds `limits.tools.timeoutMs` or `maxMs`. */
  call(call: ToolCall<Req>, signal: AbortSignal): Promise<ToolResult>;
  /** Runs the model's programs: for a tool that `programmatic_tool_calling` requests, which is never called by `call`. */
  readonly programs?: ProgramRuntime | undefined;
  /** The servers behind these tools, without connecting to any; for the router's status. */
  status?(): readonly ToolServerStatus[];
  /** Releases connections and processes. May be called twice. */
  readonly close?: (() => Promise<void>) | undefined;
}

/** Chooses the tools of one request; `request` is the host framework's own. */
export type ToolsOf<Req = unknown> = (request: Req) => readonly ToolProvider<Req>[];

const isProvider = withMethods('list', 'call');

/** Whether the value is such an option. */
export const areTools: OptionCheck = (value) =>
  typeof value === 'function' ||
  (Array.isArray(value) ? value : [value]).every((each) => isProvider(each) === true) ||
  'tool providers, such as functionTools({ … }) or mcpTools({ … }), or a function';

/** The tools of a host. */
interface HostTools {
  /** Those of every request; undefined if the host chooses them by request. */
  readonly providers: readonly ToolProvider[] | undefined;
  /** Those of one request. Throws `HostError` if the host's function throws, or returns something else. */
  readonly toolsOf: ToolsOf;
}

/** The tools that the option names; none for undefined. The request is the host's own, as its functions expect it. */
export function hostTools(
  tools: ToolProvider<never> | readonly ToolProvider<never>[] | ToolsOf<never> | undefined,
): HostTools {
  // The casts: the host states what its requests are.
  if (typeof tools === 'function')
    return {
      providers: undefined,
      toolsOf: (request) =>
        fromHost(() => {
          const chosen: unknown = tools(request as never);
          if (Array.isArray(chosen) && chosen.every((each) => isProvider(each) === true)) return chosen;
          ignoreRejection(chosen);
          throw new TypeError(`tools: must return a list of tool providers, got ${inspect(chosen, { depth: -1 })}`);
        }),
    };
  const providers = (tools === undefined ? [] : [tools].flat()) as readonly ToolProvider[];
  return { providers, toolsOf: () => providers };
}

/** The basis of the host's decision: the tool, as its provider lists it, and the request's tenant. */
export interface ApprovalQuestion<Req = unknown>
  extends Pick<ProvidedTool, 'server' | 'name' | 'annotations'>,
    Pick<ToolCall<Req>, 'scope' | 'request'> {
  /**
   * The URL of a server that the request names, whose label the client chooses; undefined for the host's own servers.
   */
  readonly url?: string;
}

/** Whether each call of the tool needs the user's approval. */
export type ApprovalPolicy<Req = unknown> = (tool: ApprovalQuestion<Req>) => boolean;
