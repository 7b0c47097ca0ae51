/** The options that all routers and adapters share, checked once. */

import { inspect } from 'node:util';
import { DIALECTS, openai } from '../apis/dialects/dialects.ts';
import { stateSealer } from '../apis/endpoint/provider-state.ts';
import { tenantStore } from '../apis/endpoint/tenant-store.ts';
import { type CompactionOptions, type CompactionSettings, compactionSettings } from '../engine/compaction/settings.ts';
import { type GuardSettings, guardSettings } from '../engine/guarding/guard/settings.ts';
import type { EndpointRequest } from '../engine/request/endpoint-request.ts';
import { type TokenOptions, tokenSettings } from '../engine/tokens/settings.ts';
import type { BackgroundEngine } from '../ports/background/background-engine.ts';
import type { Budget } from '../ports/budget.ts';
import type { Dialect, DialectName, Presentation } from '../ports/dialect.ts';
import type { FileFetcher } from '../ports/files/file-fetcher.ts';
import type { FileStore } from '../ports/files/file-store.ts';
import type { TextReader } from '../ports/files/text-reader.ts';
import type { GuardOptions } from '../ports/guard.ts';
import type { Hooks, Reports } from '../ports/hooks.ts';
import { fromHost } from '../ports/host/host-error.ts';
import { isLogger, type Logger } from '../ports/host/logger.ts';
import {
  anyMilliseconds,
  areHooks,
  boolean,
  checkOptions,
  isFunction,
  isObject,
  type OptionCheck,
  oneOf,
  withMethods,
} from '../ports/host/options-check.ts';
import { DEFAULT_LIMITS, type Limits } from '../ports/limits.ts';
import type { PromptsOf } from '../ports/prompts.ts';
import type { RemoteServers } from '../ports/remote-servers.ts';
import { checkedSecret, processSecret, type Sealer } from '../ports/sealer.ts';
import { boundedStore, type ResponseStore } from '../ports/store.ts';
import type { TokenCounter, TokenCounting } from '../ports/token-counter.ts';
import type { ApprovalPolicy, ToolProvider, ToolsOf } from '../ports/tool-provider.ts';
import type { WantedHeartbeat } from '../ports/turn-context.ts';
import type { Upstream } from '../ports/upstream.ts';
import { isRecord } from '../protocol/record.ts';
import { createSchema } from '../protocol/responses/schema.ts';
import { memoryStore } from '../stores/memory/memory-store.ts';
import { chatCompletionsUpstream } from '../upstreams/chat-completions/chat-completions-upstream.ts';
import { isFileStore, plainSettings } from './plain-api.ts';
import { type Prompts, promptSource } from './prompt-source.ts';
import type { HostRecorder } from './recorder.ts';
import { watchedStore } from './vitals.ts';

/** How idle time on an event stream is filled. */
export interface HeartbeatOptions {
  /** Milliseconds without output before a heartbeat. Default: 15,000. */
  readonly intervalMs?: number | undefined;
  /**
   * `comment`: SSE comments, each fourth in a row OpenAI's `keepalive` event, since some clients' timers do not see
   * comments. `keepalive`: only that event. `ping`: a `ping` event, which some strict clients refuse. Default:
   * `comment`.
   */
  readonly style?: 'comment' | 'keepalive' | 'ping' | undefined;
}

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

/** The options with every default filled in. */
export interface CoreSettings extends Presentation {
  readonly files: FileStore | undefined;
  readonly documents: TextReader | undefined;
  readonly fileFetcher: FileFetcher | undefined;
  readonly toolsOf: ToolsOf;
  readonly remoteMcp?: RemoteServers | undefined;
  readonly mcpLabels?: readonly string[] | undefined;
  readonly approval?: ApprovalPolicy | undefined;
  readonly offeredTools: 'all' | 'allowed';
  readonly toolItems: 'hidden' | 'shown';
  /** Undefined for none. */
  readonly guards: GuardSettings | undefined;
  readonly upstream: Upstream;
  readonly store: ResponseStore;
  readonly limits: Limits;
  readonly onStoreError: 'fail' | 'continue';
  readonly stateSealer: Sealer;
  /** Undefined for one that runs responses in this process. */
  readonly engine: BackgroundEngine | undefined;
  readonly durable: boolean;
  readonly compaction: CompactionSettings;
  readonly countTokens: TokenCounter;
  readonly tokenCounting: TokenCounting;
  readonly prompts: PromptsOf | undefined;
  readonly budget?: Budget | undefined;
  readonly hooks: Reports;
  readonly recorder: HostRecorder;
  /** The function that the host called, such as `responsesRouter`. */
  readonly owner: string;
  /** The tools of every request; undefined if the host chooses them by request. */
  readonly providers: readonly ToolProvider[] | undefined;
  /** The dialect of a request, and how responses are shown in it. */
  readonly dialectOf: (request: unknown) => Dialect;
  readonly shownIn: (dialect: Dialect) => Presentation;
  /** Whether the store receives what the client wants unstored: a connection keeps it for itself. */
  readonly keepsUnstored?: boolean;
}

let shared: ResponseStore | undefined;

/** The memory store of this process, used if no store is given. */
function sharedStore(): ResponseStore {
  shared ??= memoryStore();
  return shared;
}

const isProvider = (value: unknown) => withMethods('list', 'call')(value) === true;

/** The checks of the shared options, to which a router adds its own. */
export const coreChecks: Readonly<Record<string, OptionCheck>> = {
  upstream: (value) =>
    withMethods('stream')(value) === true || 'an object with stream, such as chatCompletionsUpstream({ baseURL })',
  store: withMethods('get', 'put', 'delete'),
  files: isFileStore,
  documents: withMethods('read'),
  fileFetcher: withMethods('fetch'),
  tools: (value) =>
    typeof value === 'function' ||
    (Array.isArray(value) ? value : [value]).every(isProvider) ||
    'tool providers or a function',
  remoteMcp: withMethods('open', 'close'),
  mcpLabels: (value) =>
    (Array.isArray(value) && value.every((label) => typeof label === 'string')) || 'an array of labels',
  approval: isFunction,
  // Its lists are checked where they are read.
  guards: (value) => isRecord(value) || 'an object with lists of guards',
  offeredTools: oneOf('all', 'allowed'),
  mcpItems: oneOf('mcp_call', 'function_call'),
  toolItems: oneOf('hidden', 'shown'),
  reasoning: oneOf('summary', 'text', 'spec'),
  heartbeat: (value) => value === false || isRecord(value) || 'an object or false',
  limits: isObject,
  onStoreError: oneOf('fail', 'continue'),
  queuedEvent: boolean,
  dialect: (value) => typeof value === 'function' || oneOf(...Object.keys(DIALECTS))(value),
  // Both are checked separately: the message that names a bad value would show the key.
  stateKey: () => true,
  engine: withMethods('start', 'submit', 'release', 'close'),
  durable: boolean,
  compaction: () => true,
  tokens: isObject,
  prompts: (value) =>
    ['string', 'function'].includes(typeof value) || isRecord(value) || 'an object of prompts, a folder or a function',
  // It is a function, too: the same object stands alone as a middleware.
  budget: (value) =>
    ['admit', 'resume'].every((method) => isFunction(Object(value)[method]) === true) || 'a tokenBudget()',
  hooks: areHooks,
  logger: isLogger,
};

const limit: OptionCheck = (value) => (typeof value === 'number' && value > 0) || 'a positive number';
const countOrNone: OptionCheck = (value) =>
  (Number.isSafeInteger(value) && (value as number) >= 0) || 'a whole number, or 0 for none';

/** A time for a timer, or `Infinity` for none. */
export const millisecondsOrNever: OptionCheck = (value) =>
  value === Number.POSITIVE_INFINITY || anyMilliseconds(value) === true || `${anyMilliseconds(0)}, or Infinity`;

function limitCheck(name: string): OptionCheck {
  if (name === 'queuedTurns') return countOrNone;
  if (name === 'openAfterMs') return millisecondsOrNever;
  return name.endsWith('Ms') ? anyMilliseconds : limit;
}

const LIMIT_CHECKS = Object.fromEntries(Object.keys(DEFAULT_LIMITS).map((name) => [name, limitCheck(name)]));

/** Fills in the defaults; throws a `TypeError` that names the option and quotes its value. */
export function coreSettings(owner: string, options: AnyCoreOptions): CoreSettings {
  return { ...preparationSettings(owner, options), upstream: options.upstream ?? chatCompletionsUpstream() };
}

/** The same for an endpoint that calls no model server itself. */
export function preparationSettings(owner: string, options: AnyCoreOptions): Omit<CoreSettings, 'upstream'> {
  const { heartbeat, limits = {}, hooks = {}, stateKey } = options;
  // Made here, or the first request would wait until zod is loaded.
  createSchema();
  checkOptions(`${owner}: limits`, limits, LIMIT_CHECKS);
  const plain = plainSettings(owner, { hooks, logger: options.logger });
  const { vitals } = plain.recorder;
  checkDurability(owner, options);
  const chosenHeartbeat =
    heartbeat === false ? NO_HEARTBEAT : heartbeat && heartbeatSettings(`${owner}: heartbeat`, heartbeat);
  const usual = heartbeatSettings(owner, {});
  const settledLimits = allLimits(limits);
  const dialectOf = dialectsOf(owner, options.dialect);
  const tokenCounting = tokenSettings(`${owner}: tokens`, options.tokens);
  const key = stateKey === undefined ? processSecret() : checkedSecret(`${owner}: stateKey`, stateKey);
  const shownIn = ({ presentation: shown = {} }: Dialect): Presentation => ({
    mcpItems: options.mcpItems ?? shown.mcpItems ?? 'mcp_call',
    reasoning: options.reasoning ?? shown.reasoning ?? 'summary',
    heartbeat: chosenHeartbeat ?? shown.heartbeat ?? usual,
    queuedEvent: options.queuedEvent ?? shown.queuedEvent ?? false,
    listsTools: shown.listsTools ?? true,
  });
  return {
    ...plain,
    ...shownIn(typeof options.dialect === 'string' ? DIALECTS[options.dialect] : openai),
    store: tenantStore(
      watchedStore(boundedStore(options.store ?? sharedStore(), settledLimits.storeTimeoutMs), vitals.store),
    ),
    files: options.files,
    documents: options.documents,
    fileFetcher: options.fileFetcher,
    toolsOf: toolsOf(options.tools),
    remoteMcp: options.remoteMcp,
    mcpLabels: options.mcpLabels,
    // The cast: as for the other functions, the request is the host's own.
    approval: options.approval as ApprovalPolicy | undefined,
    offeredTools: options.offeredTools ?? 'all',
    toolItems: options.toolItems ?? 'hidden',
    guards: guardSettings(`${owner}: guards`, options.guards),
    limits: settledLimits,
    onStoreError: options.onStoreError ?? 'fail',
    stateSealer: stateSealer(key),
    engine: options.engine,
    durable: options.durable ?? false,
    compaction: compactionSettings(`${owner}: compaction`, options.compaction, key),
    countTokens: tokenCounting.upperCount,
    tokenCounting,
    prompts: promptSource(owner, options.prompts),
    budget: options.budget,
    providers: typeof options.tools === 'function' ? undefined : providersOf(options.tools),
    dialectOf,
    shownIn,
  };
}

/** Throws a `TypeError` where responses could not survive their process. */
function checkDurability(owner: string, { engine, durable, store, stateKey }: AnyCoreOptions): void {
  if (engine?.takesOver) {
    const what = `${owner}: engine '${engine.name}' continues responses in other processes`;
    if (!store?.events?.isShared || !store.replace)
      throw new TypeError(`${what}, so store must be one that they share: redisStore, postgresStore or sqliteStore`);
    if (stateKey === undefined) throw new TypeError(`${what}, so stateKey must be set, the same in all of them`);
  }
  if (durable && store !== undefined && !store.events)
    throw new TypeError(`${owner}: durable needs a store with an event log, and '${store.name}' has none`);
}

const NO_HEARTBEAT: WantedHeartbeat = { intervalMs: undefined, style: 'comment' };

function dialectsOf(owner: string, dialect: AnyCoreOptions['dialect'] = 'openai'): CoreSettings['dialectOf'] {
  if (typeof dialect === 'string') {
    const always = DIALECTS[dialect];
    return () => always;
  }
  return (request) => {
    // The cast: the request is the host's own, as its function expects it.
    const name = fromHost(() => dialect(request as never));
    if (Object.hasOwn(DIALECTS, name)) return DIALECTS[name];
    throw new TypeError(`${owner}: dialect: there is no dialect ${inspect(name)}`);
  };
}

/** The settings for one request, whose dialect may show responses in its own way. */
export function settingsFor(settings: CoreSettings, { request }: Pick<EndpointRequest, 'request'>): CoreSettings {
  const { dialectOf, shownIn } = settings;
  const dialect = dialectOf(request);
  return dialect.presentation ? { ...settings, ...shownIn(dialect) } : settings;
}

/** The heartbeat with its defaults; throws a `TypeError` for a bad option. */
export function heartbeatSettings(owner: string, options: HeartbeatOptions): Required<WantedHeartbeat> {
  checkOptions(owner, options, { intervalMs: anyMilliseconds, style: oneOf('comment', 'keepalive', 'ping') });
  return { intervalMs: options.intervalMs ?? 15_000, style: options.style ?? 'comment' };
}

function toolsOf(tools: AnyCoreOptions['tools']): ToolsOf {
  // The cast: the request is the host's own, as its function expects it.
  if (typeof tools === 'function') return (request) => fromHost(() => tools(request as never));
  const providers = providersOf(tools);
  return () => providers;
}

function providersOf(tools: Exclude<CoreOptions['tools'], ToolsOf>): readonly ToolProvider[] {
  return tools === undefined ? [] : [tools].flat();
}

/** A host that takes longer bodies than the default takes as many of them at the same time. */
function allLimits(limits: SomeLimits): Limits {
  const settled = { ...DEFAULT_LIMITS, ...given(limits) };
  const bodiesBytes = limits.bodiesBytes ?? Math.max(settled.bodiesBytes, 8 * settled.bodyBytes);
  return { ...settled, bodiesBytes };
}

function given(limits: SomeLimits): Partial<Limits> {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
}
