/** An upstream over several servers: what all routing upstreams have in common. */

import {
  type ChatBatch,
  type ModelServerStatus,
  type PassedAnswer,
  type PassedRequest,
  speaksMessages,
  type Upstream,
  type UpstreamCall,
} from '../../ports/upstream.ts';
import { ApiError } from '../../protocol/errors.ts';
import { type ModelFacts, sharedFacts } from '../../protocol/model-facts.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { noteOncePerCall } from '../http/note-once.ts';
import { type AnsweredCalls, type AttemptSettings, Attempts, type FailoverRule } from './attempts.ts';
import { type Choose, stickyKey, stickyKeyForBody } from './choose.ts';
import { routedPass } from './routed-pass.ts';
import { CHAT, EVENTS, RoutedStream } from './routed-stream.ts';
import type { Server } from './server.ts';
import { forOwner, ROUTED_STATE } from './state-tags.ts';

/** How one kind of routing upstream chooses. */
interface PoolSettings {
  readonly name: string;
  /** All servers, as they are now. */
  readonly servers: () => readonly Server[];
  /** The servers of a model, and its name at them. Throws `ApiError` for a model that there is not. */
  readonly select: (model: string) => { readonly servers: readonly Server[]; readonly model: string };
  readonly choose: Choose;
  readonly failsOver: FailoverRule;
  readonly attempts: number;
  readonly firstByteTimeoutMs: number | undefined;
  /** Whether all servers are one to their own state, as with several keys of it. */
  readonly sharesState: boolean;
  readonly models: (call: UpstreamCall) => Promise<readonly JsonObject[]>;
}

/** An upstream over several servers. */
export interface RoutingUpstream extends Upstream {
  /** The state of each server, as `servers` and `router.status()` have it. */
  status(): readonly ModelServerStatus[];
}

/** The upstream; it has `chat` and `messages` if one of its servers does. */
export function poolUpstream(
  settings: PoolSettings,
): RoutingUpstream & Required<Pick<Upstream, 'servers' | 'models' | 'close'>> {
  const pool = new Pool(settings);
  const [first] = settings.servers();
  const shared = settings.sharesState ? first?.upstream : undefined;
  return {
    name: settings.name,
    stateOwner: shared ? (shared.stateOwner ?? shared.name) : ROUTED_STATE,
    origin: shared?.origin,
    stream: (request, call) => pool.stream(request, call),
    ...(settings.servers().some(hasChat) ? { chat: (body, call) => pool.passOn('chat', body, call) } : {}),
    ...(settings.servers().some(({ upstream }) => upstream.messages)
      ? {
          messages: (body, call) => pool.passOn('messages', body, call),
          speaksMessages: (model) => pool.speaksMessages(model),
        }
      : {}),
    ...(settings.servers().some(({ upstream }) => upstream.pass)
      ? { pass: (request, call) => pool.pass(request, call) }
      : {}),
    nativeTypes: (model) => pool.nativeTypes(model),
    countTokens: (request, call) => pool.countTokens(request, call),
    facts: (model, call) => pool.facts(model, call),
    redact: (error, call) => pool.redact(error, call),
    models: (call) => settings.models(call),
    servers: () => settings.servers().flatMap(({ status }) => status),
    status: () => settings.servers().flatMap(({ status }) => status),
    close: () => pool.close(),
  };
}

class Pool {
  private readonly settings: PoolSettings;
  private readonly answered: AnsweredCalls = new WeakMap();
  private readonly noteOnce = noteOncePerCall();
  private closing: Promise<void> | undefined = undefined;

  constructor(settings: PoolSettings) {
    this.settings = settings;
  }

  stream(request: ModelRequest, call: UpstreamCall) {
    const { failsOver } = this.settings;
    const { model: requestedModel, promptCacheKey, instructions = '', items } = request;
    const requestKey = () => promptCacheKey ?? stickyKey([requestedModel, instructions], items);
    const attempts = () => this.attempts(requestedModel, call, { stickyKey: requestKey });
    return new RoutedStream({
      ...{ call, failsOver, attempts, reading: EVENTS },
      open: ({ lease, call: own, model, owner }) => {
        const owners = owner === undefined ? undefined : { owner, untagged: () => this.soleOwner(request.model) };
        const stated = owners ? forOwner(request, owners, (note) => this.noteOnce(call, note)) : request;
        return lease.server.upstream.stream({ ...stated, model }, own);
      },
    });
  }

  /** Bodies and answers of an API that are passed on as they are. */
  passOn(api: PassedApi, body: JsonObject, call: UpstreamCall) {
    const { failsOver } = this.settings;
    const needs = { stickyKey: () => stickyKeyForBody(body), ...(api === 'chat' ? { needs: hasChat } : {}) };
    return new RoutedStream<ChatBatch>({
      ...{ call, failsOver, reading: CHAT },
      attempts: () => this.attempts(String(body.model), call, needs),
      open: ({ lease, call: own, model }) => {
        const { upstream } = lease.server;
        // The cast: servers without it are not asked.
        const send = upstream[api] as NonNullable<Upstream['chat']>;
        return send.call(upstream, { ...body, model }, own);
      },
    });
  }

  /** Any other request of the API. */
  async pass(request: PassedRequest, call: UpstreamCall): Promise<PassedAnswer> {
    const { failsOver } = this.settings;
    const { path } = request;
    const model = request.readModel();
    const needs = {
      stickyKey: () => `${model} ${path}`,
      needs: ({ upstream }: Server) => upstream.pass !== undefined,
    };
    return routedPass(request, this.attempts(model, call, needs), failsOver, call);
  }

  /** Only what every server of the model takes as it is: any of them may answer. Undefined for a model that there is not. */
  nativeTypes(asked: string): ((type: string) => boolean) | undefined {
    const { servers, model } = this.selected(asked);
    const all = servers.map((server) => server.upstream.nativeTypes?.(server.modelFor(model)));
    if (all.length === 0 || all.includes(undefined)) return undefined;
    return (type) => all.every((takes) => takes?.(type));
  }

  /**
   * Whether all servers of the model speak that API, and no other state than theirs is about: the state in the answers, such
   * as the signature of a thought, is the client's to send back as it is, whichever model it names next.
   */
  speaksMessages(asked: string): boolean {
    const { servers, model } = this.selected(asked);
    const speaks = (server: Server) => speaksMessages(server.upstream, server.modelFor(model));
    return servers.length > 0 && servers.every(speaks) && (this.settings.sharesState || this.isOneOwner);
  }

  /** By the first server of the model: all of them have the same tokenizer, as far as they serve the same model. */
  async countTokens(request: ModelRequest, call: UpstreamCall): Promise<number | undefined> {
    const { servers, model } = this.selected(request.model);
    const [server] = servers;
    if (!server?.upstream.countTokens) return undefined;
    const owner = this.settings.sharesState ? undefined : stateTag(server.ownerFor(model));
    const owners = owner === undefined ? undefined : { owner, untagged: () => this.soleOwner(request.model) };
    const stated = owners ? forOwner(request, owners, () => {}) : request;
    return server.upstream.countTokens({ ...stated, model: server.modelFor(model) }, call);
  }

  /** What holds at each of the servers that may answer. */
  facts(asked: string, call: UpstreamCall): ModelFacts {
    const { servers, model } = this.selected(asked);
    return sharedFacts(servers.map((server) => server.upstream.facts?.(server.modelFor(model), call) ?? {}));
  }

  /** By the server that answered the call; without one, by all of them. */
  redact(error: unknown, call: UpstreamCall | undefined): unknown {
    const answered = call && this.answered.get(call);
    if (answered) return answered.server.upstream.redact?.(error, answered.call) ?? error;
    return this.settings.servers().reduce((shown, { upstream }) => upstream.redact?.(shown) ?? shown, error);
  }

  close(): Promise<void> {
    const upstreams = new Set(this.settings.servers().map(({ upstream }) => upstream));
    this.closing ??= Promise.all([...upstreams].map((upstream) => upstream.close?.())).then(() => {});
    return this.closing;
  }

  private get isOneOwner(): boolean {
    const speaking = this.settings.servers().filter(({ upstream }) => upstream.messages);
    // What is behind a routing upstream is its own.
    const owners = speaking.map(({ upstream }) => {
      const { name, stateOwner = name } = upstream;
      return stateOwner === ROUTED_STATE ? upstream : stateOwner;
    });
    return new Set<unknown>(owners).size === 1;
  }

  /** The owner of state that the client sends in the words of Messages: only what all servers of that API can read is sent so. */
  private soleOwner(asked: string): string | undefined {
    if (!this.speaksMessages(asked)) return undefined;
    const { servers, model } = this.selected(asked);
    const owners = new Set(servers.map((server) => stateTag(server.ownerFor(model))));
    const [owner] = owners;
    return owners.size === 1 ? owner : undefined;
  }

  /** No servers for a model that there is not: whoever asks for it gets an error. */
  private selected(asked: string): ReturnType<PoolSettings['select']> {
    try {
      return this.settings.select(asked);
    } catch {
      return { servers: [], model: asked };
    }
  }

  private attempts(
    asked: string,
    call: UpstreamCall,
    { stickyKey, needs }: Pick<AttemptSettings, 'stickyKey'> & { readonly needs?: (server: Server) => boolean },
  ): Attempts {
    const { choose, attempts: most, firstByteTimeoutMs, sharesState, select } = this.settings;
    const { servers: all, model } = select(asked);
    const servers = needs ? all.filter(needs) : all;
    if (servers.length === 0 && all.length > 0) {
      const message = `The model '${asked.slice(0, SHOWN)}' is not available in this API; use the Responses API.`;
      throw new ApiError('invalid_value', message, { param: 'model' });
    }
    const ownerOf = (server: Server) => (sharesState ? undefined : stateTag(server.ownerFor(model)));
    const settings = { model, servers, choose, stickyKey, most, firstByteTimeoutMs, ownerOf };
    return new Attempts(call, settings, this.answered);
  }
}

/** State that a routing upstream hands on is tagged already. */
function stateTag(owner: string): string | undefined {
  return owner === ROUTED_STATE ? undefined : owner;
}

function hasChat({ upstream }: Server): boolean {
  return upstream.chat !== undefined;
}

type PassedApi = 'chat' | 'messages';

/** Characters of a model's name that are shown. */
const SHOWN = 100;
