/** The options that all routers and adapters share. */

import type { CompactionOptions } from '../../engine/compaction/settings.ts';
import type { TokenOptions } from '../../engine/tokens/settings.ts';
import type { Webhooks } from '../../engine/webhooks/webhooks.ts';
import type { BackgroundEngine } from '../../ports/background/background-engine.ts';
import type { Budget } from '../../ports/budget.ts';
import type { DialectName } from '../../ports/dialect.ts';
import type { FileFetcher } from '../../ports/files/file-fetcher.ts';
import type { FileStore } from '../../ports/files/file-store.ts';
import type { TextReader } from '../../ports/files/text-reader.ts';
import type { GuardOptions } from '../../ports/guard.ts';
import type { Hooks } from '../../ports/hooks.ts';
import type { Logger } from '../../ports/host/logger.ts';
import type { Limits } from '../../ports/limits.ts';
import type { RemoteServers } from '../../ports/remote-servers.ts';
import type { ResponseStore } from '../../ports/store.ts';
import type { ApprovalPolicy, ToolProvider, ToolsOf } from '../../ports/tool-provider.ts';
import type { Upstream } from '../../ports/upstream.ts';
import type { HeartbeatOptions } from './heartbeat-options.ts';
import type { Prompts } from './prompt-source.ts';

/** Some of the limits; the others keep their defaults. */
export type SomeLimits = { readonly [Name in keyof Limits]?: Limits[Name] | undefined };

/**
 * The options that every router and adapter accepts; `undefined` means omitted. `Req` is the host framework's request,
 * which the host's functions receive.
 */
export interface CoreOptions<Req = unknown> {
  /** The model server. Default: `chatCompletionsUpstream()`, configured by the environment. */
  readonly upstream?: Upstream | undefined;
  /** Where responses are stored. Default: one bounded memory store for the process. */
  readonly store?: ResponseStore | undefined;
  /**
   * Where the files that requests name by `file_id` are kept: the same as for `filesRouter`. Default: such requests are
   * refused.
   */
  readonly files?: FileStore | undefined;
  /**
   * Reads the text of the documents in requests, such as PDFs, for models whose servers take no files: `documentText()`
   * makes one. Default: none, and documents that are no text reach the model server as they are.
   */
  readonly documents?: TextReader | undefined;
  /**
   * Fetches the files that requests name by `file_url`, such as an `egressGuard()` for hosts that you allow. Default: none;
   * model servers that fetch files themselves receive the URL, and for others such requests are refused.
   */
  readonly fileFetcher?: FileFetcher | undefined;
  /** Tools that the server runs itself, for every request or by request. Default: none. */
  readonly tools?: ToolProvider<Req> | readonly ToolProvider<Req>[] | ToolsOf<Req> | undefined;
  /** Opens tool servers that requests name by their URL; `remoteMcp()` makes one. Default: such tools are left out. */
  readonly remoteMcp?: RemoteServers | undefined;
  /** The `server_label`s of the host's own tools that requests may name. Default: all of them. */
  readonly mcpLabels?: readonly string[] | undefined;
  /**
   * Which server-run tools need the user's approval, besides those for which the request requires it. Default: none.
   */
  readonly approval?: ApprovalPolicy<Req> | undefined;
  /** What may go in and come out: guards such as `pii()`, for each direction. Default: none. */
  readonly guards?: GuardOptions<Req> | undefined;
  /**
   * What the model is offered where `tool_choice` allows only some tools: `all` keeps the model server's cache of the
   * prompt, and a model that calls another tool is told which it may call; `allowed` leaves the others out. Default: `all`.
   */
  readonly offeredTools?: 'all' | 'allowed' | undefined;
  /** How calls of those tools are shown: `function_call` is what strict Open Responses clients know. Default: `mcp_call`. */
  readonly mcpItems?: 'mcp_call' | 'function_call' | undefined;
  /**
   * Whether clients of the Messages API see the calls of server-run tools that they did not name themselves. Default:
   * `hidden`.
   */
  readonly toolItems?: 'hidden' | 'shown' | undefined;
  /**
   * Where reasoning is shown: `summary` suits every client, `text` is OpenAI's raw form, `spec` that of Open Responses. Default:
   * the dialect's form, which is `summary` for `openai`.
   */
  readonly reasoning?: 'summary' | 'text' | 'spec' | undefined;
  /** How idle event streams are kept open; false sends nothing. Default: a comment every 15 seconds. */
  readonly heartbeat?: HeartbeatOptions | false | undefined;
  /** What a request, a model or a tool may use up. Default: as docs/options.md lists. */
  readonly limits?: SomeLimits | undefined;
  /** Whether a response that could not be stored fails, or is answered all the same. Default: `fail`. */
  readonly onStoreError?: 'fail' | 'continue' | undefined;
  /** Whether `response.queued` is sent. Default: false. */
  readonly queuedEvent?: boolean | undefined;
  /** The clients' dialect, for all requests or by request. Default: `openai`. */
  readonly dialect?: DialectName | DialectOf<Req> | undefined;
  /**
   * Seals opaque provider state, such as thought signatures: a text or bytes, at least 16 bytes, the same in every
   * process. Default: a random one for this process, so that after a restart that state is left out.
   */
  readonly stateKey?: string | Uint8Array | undefined;
  /**
   * What runs responses in the background: `bullmqEngine()` lets any process continue those of one that is gone; it
   * needs a `store` with an event log that other processes see, and a `stateKey`. Used by the Responses API over HTTP
   * only. Default: this process alone.
   */
  readonly engine?: BackgroundEngine | undefined;
  /**
   * Whether a stream goes on when its client is cut off, which may come back for the rest with `starting_after`. Needs a
   * `store` with an event log. Used by the Responses API over HTTP only. Default: false.
   */
  readonly durable?: boolean | undefined;
  /**
   * Tells tenants of the end of their responses in the background: `createWebhooks()` makes them. Used by the Responses API over HTTP
   * only. Default: none.
   */
  readonly webhooks?: Webhooks | undefined;
  /** How conversations are compacted, and the key that seals the result. Default: those of `CompactionOptions`. */
  readonly compaction?: CompactionOptions | undefined;
  /** How tokens are counted. Default: those of `TokenOptions`. */
  readonly tokens?: TokenOptions | undefined;
  /** The templates that requests name by `prompt`: by id, a folder, or a function. Default: none, and such requests are refused. */
  readonly prompts?: Prompts<Req> | undefined;
  /** What each tenant may use: `tokenBudget()` makes one. Default: no bound. */
  readonly budget?: Budget | undefined;
  /** Functions that receive requests, responses, tool calls and errors. Default: none. */
  readonly hooks?: Hooks | undefined;
  /**
   * Receives the lines for the host's log: an object of pino or winston, or `console`, as it is. False: no lines at all.
   * Default: failures of the server are process warnings.
   */
  readonly logger?: Logger | false | undefined;
}

/** Chooses the dialect of one request; `request` is the host framework's own. */
export type DialectOf<Req = unknown> = (request: Req) => DialectName;

/** The options of any host. */
export type AnyCoreOptions = CoreOptions<never>;
