/** Records the requests of the observed routers, by their hooks and upstreams. */
import type { Hooks, ObservedTurn, ReceiveEvents, ResponseInfo } from '../../../ports/hooks.ts';
import { warnOfError } from '../../../ports/host/error-warning.ts';
import type { ToolProvider } from '../../../ports/tool-provider.ts';
import type { Upstream } from '../../../ports/upstream.ts';
import type { ApiError } from '../../../protocol/errors.ts';
import type { TurnEvent } from '../../../protocol/events.ts';
import { truncateText } from '../../../protocol/printable.ts';
import { isRecord } from '../../../protocol/record.ts';
import { type ItemSettings, takeEvents } from '../recording/live-items.ts';
import { ModelCallRecord } from '../recording/model-call.ts';
import { BlockPool } from '../recording/pooled-bytes.ts';
import type { Recording } from '../recording/recording.ts';
import { catchRedactErrors, lastUserText, type Redact, redactedBody } from '../recording/request-text.ts';
import type { Ring } from '../recording/ring.ts';
import { ToolCounts, UpstreamCounts } from './counts.ts';
import { withHooks } from './observed-hooks.ts';
import { type CallSink, type EndedCall, observedUpstream, recordedError } from './observed-upstream.ts';

/** What the inspector needs of a router's options; the others pass unchanged. */
export interface ObservableOptions {
  /** The model server, whose calls are recorded. */
  readonly upstream?: Upstream | undefined;
  /** The tools whose servers are shown; those of a function, which depend on the request, are not. */
  readonly tools?: ToolProvider<never> | readonly ToolProvider<never>[] | ((request: never) => unknown) | undefined;
  /** The host's own hooks, which are called as before. */
  readonly hooks?: Hooks | undefined;
  /** The router's `logger`: without one, the router reports failures as process warnings. */
  readonly logger?: unknown;
}

/** The most providers of tools, and upstreams, that are shown; a host has a handful of each. */
const MAX_PARTS = 256;

/** The settings of what is kept. */
interface ObserverSettings {
  readonly bodyCharacters: number;
  readonly redact: Redact | undefined;
}

/** Observes the routers. */
export class Observer implements CallSink {
  readonly upstreams = new UpstreamCounts();
  readonly toolCounts = new ToolCounts();
  readonly providers = new Set<ToolProvider<never>>();
  /** Whether an observed router chooses its tools by request. */
  choosesTools = false;
  readonly keepsText: boolean;
  private readonly ring: Ring;
  private readonly limit: number;
  private readonly redact: Redact;
  private readonly items: ItemSettings;
  private readonly pool = new BlockPool();
  private readonly proxies = new WeakMap<Upstream, Upstream>();
  private readonly observedHooks = new WeakSet<Hooks>();

  constructor(ring: Ring, { bodyCharacters, redact }: ObserverSettings) {
    this.ring = ring;
    this.limit = bodyCharacters;
    this.redact = catchRedactErrors(redact);
    // With `redact`, only text that has passed through it is kept.
    this.keepsText = redact === undefined;
    this.items = { limit: bodyCharacters, redacted: this.redact, keepsGrowing: this.keepsText };
  }

  /** The same options, with the inspector's parts in them. */
  observe<Options extends ObservableOptions>(options: Options): Options & { readonly hooks: Hooks } {
    const { upstream, tools, hooks = {}, logger } = options;
    if (typeof tools === 'function') this.choosesTools = true;
    else for (const provider of tools ? [tools].flat() : []) this.addProvider(provider as ToolProvider<never>);
    return {
      ...options,
      ...(upstream ? { upstream: this.observeUpstream(upstream) } : {}),
      hooks: this.observeHooks(hooks, logger === undefined && !hooks.onError),
    };
  }

  begin(upstream: string, signal: AbortSignal): ModelCallRecord | undefined {
    const recording = this.ring.ofSignal(signal);
    if (!recording || recording.isEvicted) return undefined;
    const call = new ModelCallRecord(recording, upstream, { limit: this.limit, pool: this.pool });
    return recording.addCall(call) ? call : undefined;
  }

  ended(upstream: Upstream, call: EndedCall): void {
    this.upstreams.add(upstream, call);
  }

  private addProvider(provider: ToolProvider<never>): void {
    if (this.providers.size < MAX_PARTS) this.providers.add(provider);
  }

  private observeUpstream(upstream: Upstream): Upstream {
    const known = this.proxies.get(upstream);
    if (known) return known;
    const proxy = observedUpstream(upstream, this);
    this.proxies.set(upstream, proxy);
    // Options that are observed again already have the proxy, and are recorded once.
    this.proxies.set(proxy, proxy);
    this.upstreams.register(upstream);
    return proxy;
  }

  private observeHooks(hooks: Hooks, warns: boolean): Hooks {
    if (this.observedHooks.has(hooks)) return hooks;
    const both = withHooks(hooks, this.hooks(warns));
    this.observedHooks.add(both);
    return both;
  }

  /** The inspector's error hook would suppress the warnings of a host that has neither a hook nor a logger, so it warns itself. */
  private hooks(warns: boolean): Hooks {
    return {
      onTurn: (turn) => this.onTurn(turn),
      onRequest: (info) => {
        if (this.ring.ofRequest(info.requestId)?.info.responseId !== info.responseId) this.ring.begin(info);
      },
      onResponse: (info) => this.onResponse(info),
      onToolCall: (info) => {
        const call = this.keepsText || info.error === undefined ? info : { ...info, error: 'The tool failed.' };
        this.toolCounts.add(call);
        this.recordingForTenant(call)?.addTool(call);
      },
      onApproval: (info) => {
        const what = `${info.server ?? ''} ${info.name ?? ''}`.trim();
        this.recordingForTenant(info)?.mark('approval', `${info.decision} ${what}`);
      },
      onError: (error, info) => {
        if (warns) warnOfError(error, info);
        this.onError(error, info.requestId);
      },
      onNote: ({ code, message }, { requestId }) => this.ring.ofRequest(requestId)?.mark('note', `${code}: ${message}`),
    };
  }

  private onTurn(turn: ObservedTurn): ReceiveEvents {
    const { api, body, signal } = turn;
    const recording = this.ring.begin(turn, signal);
    const recordedBody = this.keepsText ? body : redactedBody(body, this.redact);
    recording.body = recording.keepJson(recordedBody, this.limit);
    recording.asked = lastUserText(recordedBody);
    recording.api = api;
    recording.previousId = referenceIn(body, 'previous_response_id');
    recording.conversation = referenceIn(body, 'conversation');
    // The cast: the routers are of this package and version.
    return (events) => takeEvents(recording, events as readonly TurnEvent[], this.items);
  }

  /** Ends the recording of an answer without events: a chat completion, a message that passes through, or a compaction. */
  private onResponse({ requestId, responseId, status, usage, cost, upstreamModel }: ResponseInfo): void {
    const recording = this.ring.ofRequest(requestId);
    if (recording?.info.responseId !== responseId || !recording.isRunning) return;
    Object.assign(recording, { usage, cost, upstreamModel });
    recording.end(status);
  }

  private onError(error: ApiError, requestId: string): void {
    const known = this.ring.ofRequest(requestId);
    if (known?.isRunning || (known?.status === 'failed' && known.error?.code === error.code)) {
      known.fail(recordedError(error));
      // A turn that has begun still has an end of its own.
      const isStreaming = known.api !== 'responses' && known.info.stream && known.firstOutput !== undefined;
      if (known.events === 0 && !isStreaming) known.end('failed');
      return;
    }
    const unknown = { requestId, responseId: '', scope: '', model: '', stream: false, background: false };
    const refused = this.ring.begin(unknown);
    refused.fail(recordedError(error));
    refused.end('refused');
  }

  /** The request's recording, unless another tenant has sent the same request id since. */
  private recordingForTenant({
    requestId,
    scope,
  }: {
    readonly requestId: string;
    readonly scope: string;
  }): Recording | undefined {
    const recording = this.ring.ofRequest(requestId);
    return recording?.info.scope === scope ? recording : undefined;
  }
}

const MAX_ID = 128;

function referenceIn(body: unknown, field: string): string | undefined {
  const value = isRecord(body) ? body[field] : undefined;
  const id = isRecord(value) ? value.id : value;
  return typeof id === 'string' ? truncateText(id, MAX_ID) : undefined;
}
