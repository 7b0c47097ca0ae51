/** What is known about the models of one server: from the host, from the server's list, and from what the server says of one model. */

import type { UpstreamCall } from '../../ports/upstream.ts';
import { type ModelFacts, mergeFacts, modelFacts, withFacts } from '../../protocol/model-facts.ts';
import { wildcardTest } from '../../protocol/name-patterns.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';

/** How a model table asks its server. */
interface ModelSource {
  /** The server's list. Throws as a model call does. */
  readonly list: (call: UpstreamCall) => Promise<readonly JsonObject[]>;
  /** What the server says about one model of its list elsewhere. Default: it says nothing more. */
  readonly look?: (entry: JsonObject, entries: readonly JsonObject[], call: UpstreamCall) => Promise<ModelFacts>;
  /** Whether the server answers with its one model whatever the request calls it. Default: no. */
  readonly isOneForAll?: (entries: readonly JsonObject[]) => boolean;
}

/** Facts by the names of models, or by patterns with `*`. */
export type ModelsOption = Readonly<Record<string, ModelFacts>>;

/** How long the server is believed, in milliseconds, and how long it is left alone after it did not answer. */
const LASTING_MS = 10 * 60_000;
const PAUSE_MS = 60_000;
/** How long the server has for what it says elsewhere. */
const LOOK_MS = 2000;
/** How long it has in the background for all of it. */
const ASK_MS = 15_000;
/** Models that are remembered, and their names' characters; others are asked about anew. */
const MAX_MODELS = 4096;
const MAX_NAME = 256;
/** Models of a list that are looked at for it, and at a time. */
const MAX_LOOKS = 64;
const LOOKS_AT_A_TIME = 8;

/** Of a model that the host says nothing about. */
const NO_FACTS: ModelFacts = {};

/** The models of one server. */
export class ModelTable {
  private readonly option: ModelsOption;
  private readonly patterns: readonly (readonly [test: (name: string) => boolean, facts: ModelFacts])[];
  private readonly source: ModelSource;
  private known: ReadonlyMap<string, ModelFacts> = new Map();
  /** Of the one model that answers to every name. */
  private ofAll: ModelFacts = {};
  /** In milliseconds since the epoch. */
  private until = 0;
  private asking: AbortController | undefined;
  private isClosed = false;

  constructor(option: ModelsOption, source: ModelSource) {
    this.option = option;
    this.patterns = Object.entries(option)
      .filter(([name]) => name.includes('*'))
      .map(([name, facts]) => [wildcardTest(name), facts] as const);
    this.source = source;
  }

  /** What is known now. The server is asked in the background if that is old, or missing. */
  facts(model: string, call: UpstreamCall): ModelFacts {
    if (this.until <= Date.now()) this.ask(call);
    return this.now(model);
  }

  /** What is known now; nobody is asked. */
  now(model: string): ModelFacts {
    const known = this.known.get(model) ?? this.known.get(`${model}:latest`) ?? this.ofAll;
    const given = this.given(model);
    return given === NO_FACTS ? known : mergeFacts(given, known);
  }

  /** The server's list with all that is known, and the models that only the host names. Throws if there is neither. */
  async list(call: UpstreamCall): Promise<readonly JsonObject[]> {
    const named = Object.keys(this.option).filter((name) => !name.includes('*'));
    const entries = await this.source.list(call).catch((error: unknown) => {
      call.signal.throwIfAborted();
      if (named.length === 0) throw error;
      return undefined;
    });
    if (entries) await this.learn(entries, call);
    const listed = new Set(entries?.map(({ id }) => id));
    const more = named.filter((id) => !listed.has(id)).map((id) => ({ id, object: 'model' }));
    return [...(entries ?? []), ...more].map((entry) => this.withKnown(entry));
  }

  /** Ends what runs in the background. */
  close(): void {
    this.isClosed = true;
    this.asking?.abort();
  }

  private withKnown(entry: JsonObject): JsonObject {
    const { id } = entry;
    return typeof id === 'string' ? withFacts(entry, mergeFacts(this.given(id), this.known.get(id) ?? {})) : entry;
  }

  private given(model: string): ModelFacts {
    if (Object.hasOwn(this.option, model)) return this.option[model] ?? NO_FACTS;
    return this.patterns.find(([test]) => model.length <= MAX_NAME && test(model))?.[1] ?? NO_FACTS;
  }

  private ask(call: UpstreamCall): void {
    if (this.asking || this.isClosed) return;
    this.asking = new AbortController();
    const signal = AbortSignal.any([this.asking.signal, AbortSignal.timeout(ASK_MS)]);
    const { headers, limits } = call;
    const own: UpstreamCall = { signal, headers, limits, retries: 0, note: () => {} };
    Promise.resolve()
      .then(async () => this.learn(await this.source.list(own), own))
      .catch(() => {
        this.until = Date.now() + PAUSE_MS;
      })
      .finally(() => {
        this.asking = undefined;
      });
  }

  private async learn(entries: readonly JsonObject[], call: UpstreamCall): Promise<void> {
    const known = new Map<string, ModelFacts>();
    for (const entry of entries) {
      if (known.size >= MAX_MODELS) break;
      if (typeof entry.id === 'string' && entry.id.length <= MAX_NAME) known.set(entry.id, modelFacts(entry));
    }
    await this.lookAt(entries, known, call);
    this.known = known;
    const [only] = known.values();
    this.ofAll = this.source.isOneForAll?.(entries) ? (only ?? {}) : {};
    this.until = Date.now() + LASTING_MS;
  }

  /** A server that says nothing more in time is believed as far as its list goes. */
  private async lookAt(
    entries: readonly JsonObject[],
    known: Map<string, ModelFacts>,
    call: UpstreamCall,
  ): Promise<void> {
    const { look } = this.source;
    if (!look) return;
    const signal = AbortSignal.any([call.signal, AbortSignal.timeout(LOOK_MS)]);
    const own: UpstreamCall = { ...call, signal, retries: 0, onAttempt: undefined, wire: undefined };
    const waiting = entries.filter(({ id }) => typeof id === 'string' && known.has(id)).slice(0, MAX_LOOKS);
    const work = async () => {
      for (let entry = waiting.shift(); entry; entry = waiting.shift()) {
        if (signal.aborted) return;
        const { id } = entry;
        const more = await look(entry, entries, own).catch((): ModelFacts => ({}));
        if (typeof id === 'string') known.set(id, mergeFacts(more, known.get(id) ?? {}));
      }
    };
    await Promise.all(Array.from({ length: LOOKS_AT_A_TIME }, work));
    call.signal.throwIfAborted();
  }
}

/** Undefined if the value is the option `models`; else what it must be. */
export function modelsFault(value: unknown): string | undefined {
  const isValid =
    isRecord(value) &&
    Object.entries(value).every(([model, facts]) => {
      if (model === '' || model.length > MAX_NAME || !isRecord(facts)) return false;
      // The cast: a name that is none of a fact's has no check.
      return Object.entries(facts).every(
        ([name, fact]) =>
          Object.hasOwn(FACT_CHECKS, name) && (fact === undefined || FACT_CHECKS[name as keyof ModelFacts](fact)),
      );
    });
  return isValid ? undefined : MODELS_EXPECTED;
}

const MODELS_EXPECTED =
  'an object of facts by the names of models: contextLength and maxOutputTokens (whole numbers from 1), modalities and efforts (lists of names), tools (true or false)';

const FACT_CHECKS: Readonly<Record<keyof ModelFacts, (value: unknown) => boolean>> = {
  contextLength: isTokenCount,
  maxOutputTokens: isTokenCount,
  modalities: isNameList,
  efforts: isNameList,
  tools: (value) => typeof value === 'boolean',
};

function isTokenCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) > 0;
}

function isNameList(value: unknown): boolean {
  return Array.isArray(value) && value.every((name) => typeof name === 'string' && name !== '');
}
