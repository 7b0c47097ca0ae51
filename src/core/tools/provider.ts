/** The port to tools that the server runs itself, whoever provides them. */
import type { MaybePromise } from '../store.ts';
import type { ToolDefinition } from '../upstream/upstream.ts';

/** A tool as its provider knows it; `name` is the provider's own and need not be unique among providers. */
export interface ProvidedTool extends ToolDefinition {
  /** The group it belongs to, such as an MCP server; shown to clients as `server_label`. */
  readonly server: string;
  /** Hints about the tool, passed on to clients as they are. */
  readonly annotations?: Readonly<Record<string, unknown>>;
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
}

/** What a tool answers: text, or parts as in a `function_call_output` (`input_text`, `input_image`, `input_file`). */
export interface ToolResult {
  readonly content: string | readonly Readonly<Record<string, unknown>>[];
  /** Whether the tool itself failed; the model is told what `content` says. */
  readonly isError?: boolean;
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
