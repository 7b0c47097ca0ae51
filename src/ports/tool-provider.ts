/** The port to tools that the server runs itself, whoever provides them. */
import type { CodeOutput } from '../protocol/items.ts';
import type { ToolDefinition } from '../protocol/model-request.ts';
import type { MaybePromise } from './store.ts';

/** A tool as its provider knows it; `name` is the provider's own and need not be unique among providers. */
export interface ProvidedTool extends ToolDefinition {
  /** The group it belongs to, such as an MCP server; shown to clients as `server_label`. */
  readonly server: string;
  /** The type of tool in a request that asks for it, such as `code_interpreter`; other requests are not offered it. */
  readonly requestedBy?: string;
  /** Hints about the tool, passed on to clients as they are. */
  readonly annotations?: Readonly<Record<string, unknown>>;
}

/** A file that the conversation brought, by a name without folders. */
export interface ToolFile {
  readonly name: string;
  readonly data: Uint8Array;
}

/** Where the code of a request runs. */
export interface Workspace {
  /** The container's id; of two scopes, both may have containers of the same id. */
  readonly container: string;
  /** Whether code of an earlier response ran there, so that the model may count on what that left. */
  readonly used: boolean;
  /** What the conversation brought, read when it is asked for. */
  files(): readonly ToolFile[];
}

/** One call of a tool, its arguments already checked against the tool's schema. */
export interface ToolCall {
  readonly server: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Whose request it is; see the `scope` option. */
  readonly scope: string;
  readonly requestId: string;
  /** The host framework's own request, for its auth; undefined where there is none. */
  readonly request: unknown;
  /** What the answer may hold, in bytes of UTF-8; a larger one is a failed call. Absent, nothing bounds it here. */
  readonly outputBytes?: number;
  /** Where the request asked for a `code_interpreter`. */
  readonly workspace?: Workspace;
}

/** What a tool answers: text, or parts as in a `function_call_output` (`input_text`, `input_image`, `input_file`). */
export interface ToolResult {
  readonly content: string | readonly Readonly<Record<string, unknown>>[];
  /** Whether the tool itself failed; the model is told what `content` says. */
  readonly isError?: boolean;
  /** What a run of code is shown with. Default: `content` as its logs. */
  readonly outputs?: readonly CodeOutput[];
}

/**
 * Tools that the server runs. `list` is asked on every request, so it must answer from a cache. A `call` that throws
 * is a failed call, whose message the model is told; it must end soon after the signal is aborted.
 */
export interface ToolProvider {
  readonly name: string;
  list(signal: AbortSignal): MaybePromise<readonly ProvidedTool[]>;
  call(call: ToolCall, signal: AbortSignal): Promise<ToolResult>;
  /** Releases connections and processes. May be called twice. */
  close?(): Promise<void>;
}

/** Chooses the tools of one request; `request` is the host framework's own. */
export type ToolsOf = (request: unknown) => readonly ToolProvider[];
