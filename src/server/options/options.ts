/** The options that all routers and adapters share. */

import type { MultiAgentOptions } from '../../engine/agents/settings.ts';
import type { CompactionOptions } from '../../engine/compaction/settings.ts';
import type { TextCounter } from '../../engine/tokens/tokenizer.ts';
import type { Webhooks } from '../../engine/webhooks/webhooks.ts';
import type { Budget } from '../../ports/budget.ts';
import type { DialectName } from '../../ports/dialect.ts';
import type { GuardOptions } from '../../ports/guard.ts';
import type { Hooks } from '../../ports/hooks.ts';
import type { Logger } from '../../ports/host/logger.ts';
import type { RemoteServers } from '../../ports/remote-servers.ts';
import type { ResponseStore } from '../../ports/store.ts';
import type { ApprovalQuestion, ToolProvider, ToolsOf } from '../../ports/tool-provider.ts';
import type { Upstream } from '../../ports/upstream.ts';
import type { BackgroundOptions } from './background-options.ts';
import type { FileOptions } from './file-options.ts';
import type { HeartbeatOptions } from './heartbeat-options.ts';
import type { LimitOptions } from './limit-options.ts';
import type { Prompts } from './prompt-source.ts';
import type { ShowOptions } from './show-options.ts';

/**
 * The options that every router and adapter accepts; `undefined` means omitted. `Req` is the host framework's request,
 * which the host's functions receive.
 */
export interface CoreOptions<Req = unknown> extends FileOptions {
  /** The model server. Default: `chatCompletionsUpstream()`, configured by the environment. */
  readonly upstream?: Upstream | undefined;
  /** Where responses are stored. Default: one bounded memory store for the process. */
  readonly store?: ResponseStore | undefined;
  /** Tools that the server runs itself, for every request or by request. Default: none. */
  readonly tools?: ToolProvider<Req> | readonly ToolProvider<Req>[] | ToolsOf<Req> | undefined;
  /** Opens tool servers that requests name by their URL; `remoteMcp()` makes one. Default: such tools are left out. */
  readonly remoteMcp?: RemoteServers | undefined;
  /**
   * Which server-run tools need the user's approval, besides those for which the request requires it. Default: none.
   */
  // Not by its alias: the compiler then shows what a policy returns. So for each `scope`.
  readonly approval?: ((tool: ApprovalQuestion<Req>) => boolean) | undefined;
  /** What may go in and come out: guards such as `pii()`, for each direction. Default: none. */
  readonly guards?: GuardOptions<Req> | undefined;
  /**
   * What the model is offered where `tool_choice` allows only some tools: `all` keeps the model server's cache of the
   * prompt, and a model that calls another tool is told which it may call; `allowed` leaves the others out. Default: `all`.
   */
  readonly offeredTools?: 'all' | 'allowed' | undefined;
  /** What clients are shown of reasoning and of the calls of server-run tools. Default: those of `ShowOptions`. */
  readonly show?: ShowOptions | undefined;
  /**
   * Whether `GET /openapi.json` describes the routes, below the path where they are mounted: it tells what clients may send, and nothing of
   * any tenant. Default: true.
   */
  readonly openapi?: boolean | undefined;
  /** How idle event streams are kept open; false sends nothing. Default: a comment every 15 seconds. */
  readonly heartbeat?: HeartbeatOptions | false | undefined;
  /** What a request, a model, a tool and a turn may use up. Default: as docs/options.md lists. */
  readonly limits?: LimitOptions | undefined;
  /** Whether a response that could not be stored fails, or is answered all the same. Default: `fail`. */
  readonly onStoreError?: 'fail' | 'continue' | undefined;
  /** The clients' dialect, for all requests or by request. Default: `openai`. */
  readonly dialect?: DialectName | DialectOf<Req> | undefined;
  /**
   * Seals all that leaves the server and must come back unread: provider state such as thought signatures, compactions, and the
   * requests in an event log. A text or bytes, at least 16 bytes, random, the same in every process; each purpose has a key of
   * its own that is derived from it. Default: a random one for this process, whose seals nothing opens after a restart.
   */
  readonly secret?: string | Uint8Array | undefined;
  /** What runs responses in the background, and which streams outlive their client. Default: those of `BackgroundOptions`. */
  readonly background?: BackgroundOptions | undefined;
  /**
   * Tells tenants of the end of their responses in the background, and of their batches: `createWebhooks()` makes them. Used by the
   * Responses API over HTTP, and by `batchesApi`, only. Default: none.
   */
  readonly webhooks?: Webhooks | undefined;
  /**
   * Whether a request of the Responses API may have several agents, which the model begins itself (OpenAI's beta `responses_multi_agent=v1`),
   * and how many. Default: false, and a request's `multi_agent` is ignored.
   */
  readonly multiAgent?: boolean | MultiAgentOptions | undefined;
  /** How conversations are compacted. Default: those of `CompactionOptions`. */
  readonly compaction?: CompactionOptions | undefined;
  /**
   * Counts the tokens of a text, for a model whose tokenizer the host has. Default: the model server counts where it
   * can, else `js-tiktoken` if installed, else characters / 4, both calibrated by what the model server has reported.
   */
  readonly countTokens?: TextCounter | undefined;
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
