/** The kinds of servers that say more than the API lets them: how they are recognised, and what they say about a model. */

import type { UpstreamCall } from '../../ports/upstream.ts';
import { type ModelFacts, modelFacts } from '../../protocol/model-facts.ts';
import { isRecord, type JsonObject, recordsIn } from '../../protocol/record.ts';
import { fetchJson } from '../http/exchange.ts';
import type { HttpClient } from '../http/http.ts';

/** A kind of server; `auto` is found out by the list of its models, `none` is any other. */
export type ServerKind = 'vllm' | 'llama.cpp' | 'ollama' | 'auto' | 'none';

/** How servers name themselves as the owners of their models. */
const OWNERS: ReadonlyMap<unknown, Exclude<ServerKind, 'auto'>> = new Map([
  ['vllm', 'vllm'],
  ['llamacpp', 'llama.cpp'],
  ['library', 'ollama'],
]);

/** The kind of the server that has these models. */
export function detectServerKind(models: readonly JsonObject[]): Exclude<ServerKind, 'auto'> {
  return models.map(({ owned_by: owner }) => OWNERS.get(owner)).find((kind) => kind) ?? 'none';
}

/** Asks one server about one of its models. Throws as a model call does. */
export class ServerFacts {
  private readonly client: HttpClient;
  private readonly kind: ServerKind;
  private readonly headersFor: (call: UpstreamCall) => Readonly<Record<string, string>>;

  constructor(client: HttpClient, kind: ServerKind, headersFor: ServerFacts['headersFor']) {
    this.client = client;
    this.kind = kind;
    this.headersFor = headersFor;
  }

  /** What the list does not say. */
  async look(entry: JsonObject, entries: readonly JsonObject[], call: UpstreamCall): Promise<ModelFacts> {
    const kind = this.kindFor(entries);
    if (kind === 'ollama') return this.lookAtOllama(String(entry.id), call);
    return kind === 'llama.cpp' ? this.lookAtLlama(String(entry.id), entries.length > 1, call) : {};
  }

  /** llama.cpp with one model answers with it, whatever it is called. */
  isOneForAll(entries: readonly JsonObject[]): boolean {
    return this.kindFor(entries) === 'llama.cpp' && entries.length === 1;
  }

  private kindFor(entries: readonly JsonObject[]) {
    return this.kind === 'auto' ? detectServerKind(entries) : this.kind;
  }

  /** The length is that of one slot, which is what a request has. A server of several models loads none for this. */
  private async lookAtLlama(model: string, isRouter: boolean, call: UpstreamCall): Promise<ModelFacts> {
    const path = isRouter ? `/props?model=${encodeURIComponent(model)}&autoload=false` : '/props';
    const props = await this.fetch(path, undefined, call);
    const { default_generation_settings: settings, modalities, chat_template_caps: caps } = props;
    const length = isRecord(settings) ? settings.n_ctx : undefined;
    const { contextLength } = modelFacts({ context_length: length });
    const inputs = isRecord(modalities)
      ? ['text', ...(modalities.vision === true ? ['image'] : []), ...(modalities.audio === true ? ['audio'] : [])]
      : undefined;
    const tools = isRecord(caps) && typeof caps.supports_tools === 'boolean' ? caps.supports_tools : undefined;
    return { contextLength, modalities: inputs, tools };
  }

  /**
   * A model that runs has the length it runs with. Another one will have the length of its own settings, and without
   * these one that only Ollama knows: it is shorter than the model's own, so nothing is said.
   */
  private async lookAtOllama(model: string, call: UpstreamCall): Promise<ModelFacts> {
    const [shown, running] = await Promise.all([
      this.fetch('/api/show', { model }, call),
      this.fetch('/api/ps', undefined, call).catch((): JsonObject => ({})),
    ]);
    const { capabilities, parameters } = shown;
    const list = recordsIn(running.models);
    const loaded = list.find((each) => each.name === model || each.model === model);
    const [, set] = /^num_ctx\s+(\d{1,9})\s*$/m.exec(String(parameters ?? '').slice(0, MAX_PARAMETERS)) ?? [];
    const { contextLength } = modelFacts({
      context_length: loaded?.context_length,
      context_window: set === undefined ? undefined : Number(set),
    });
    if (!Array.isArray(capabilities)) return { contextLength };
    const modalities = ['text', ...(capabilities.includes('vision') ? ['image'] : [])];
    const efforts = capabilities.includes('thinking') ? undefined : [];
    return { contextLength, modalities, tools: capabilities.includes('tools'), efforts };
  }

  private async fetch(path: string, body: JsonObject | undefined, call: UpstreamCall): Promise<JsonObject> {
    const headers = this.headersFor(call);
    const text = body && { body: JSON.stringify(body) };
    const answer = await fetchJson(this.client, { path, headers, isBeside: true, ...text }, call);
    return isRecord(answer) ? answer : {};
  }
}

const MAX_PARAMETERS = 16 * 1024;
