/** The upstream for any language model of the AI SDK: Bedrock, Vertex, an agent, a mock. */
import { setTimeout as pause, setImmediate as tick } from 'node:timers/promises';
import { inspect } from 'node:util';
import { checkOptions, isFunction, type OptionCheck } from '../../ports/host/options-check.ts';
import type { Upstream, UpstreamCall } from '../../ports/upstream.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import { definedFields, isRecord, type JsonObject } from '../../protocol/record.ts';
import { untilAborted } from '../../streams/until-aborted.ts';
import { watchdog } from '../http/connection/watchdog.ts';
import { noteOncePerCall } from '../http/note-once.ts';
import { skippedItem } from '../http/skipped-item.ts';
import { AnswerReader } from './answer-reader.ts';
import { type Specification, toPrompt } from './prompt.ts';
import { pauseAfter, requestError, streamError } from './provider-error.ts';

/** A language model of the AI SDK, of the interface's version `v2`, `v3` or `v4`. */
export interface AiSdkModel {
  /** The version of the interface. */
  readonly specificationVersion: string;
  /** The provider's name, such as `amazon-bedrock`. */
  readonly provider: string;
  /** The provider's name for the model. */
  readonly modelId: string;
  /** Calls the model. */
  doStream(options: never): PromiseLike<{ readonly stream: ReadableStream }>;
}

/** The settings; `undefined` means omitted. */
export interface AiSdkOptions {
  /** What every call gives to the provider, by its name, such as `{ google: { safetySettings } }`; or by request. Default: nothing. */
  readonly providerOptions?:
    | Readonly<Record<string, unknown>>
    | ((request: ModelRequest) => Readonly<Record<string, unknown>>)
    | undefined;
  /** The names that `GET /models` lists. Default: that of the model; none for a function. */
  readonly models?: readonly string[] | undefined;
  /** Further attempts after a 429, 502, 503, 504, 529 or a connection that broke before the answer. Default: 2. */
  readonly retries?: number | undefined;
}

/** Parts that are handed on together at most. */
const MAX_BATCH = 256;
const VERSIONS: ReadonlySet<string> = new Set(['v2', 'v3', 'v4']);
const EFFORTS: ReadonlySet<string> = new Set(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);

/**
 * Any language model of the AI SDK as a model server, or a function that finds it by the request's `model`: the providers of the AI SDK, an agent
 * that is wrapped as a model, a mock. Nothing of the AI SDK is imported. It has no `chat`, so it serves the Responses and Messages APIs. Throws a
 * `TypeError` for what is no model, and for a bad option.
 *
 * @example
 * ```ts
 * import { responsesRouter } from 'express-open-responses';
 * import { type AiSdkModel, aiSdkUpstream } from 'express-open-responses/upstreams/ai-sdk';
 *
 * declare const bedrock: (model: string) => AiSdkModel;
 * const router = responsesRouter({ upstream: aiSdkUpstream(bedrock) });
 * ```
 */
export function aiSdkUpstream(
  model: AiSdkModel | ((name: string) => AiSdkModel),
  options: AiSdkOptions = {},
): Upstream {
  const owner = 'aiSdkUpstream';
  checkOptions(owner, options, OPTION_CHECKS);
  const isFixed = isModel(model);
  if (!isFixed && typeof model !== 'function') {
    throw new TypeError(
      `${owner}: the model must be one of the AI SDK, or a function, got ${inspect(model, { depth: 0 })}`,
    );
  }
  const modelFor = (name: string): AiSdkModel => {
    // The cast: a provider is a function with methods, and no model itself.
    const found: unknown = isFixed ? model : (model as (name: string) => AiSdkModel)(name);
    if (isModel(found)) return found;
    throw new TypeError(`${owner}: the function must return a language model, got ${inspect(found, { depth: 0 })}`);
  };
  const noteOnce = noteOncePerCall();
  const names = options.models ?? (isFixed ? [(model as AiSdkModel).modelId] : []);
  return {
    name: 'ai-sdk',
    stateOwner: (name) => `ai-sdk:${modelFor(name).provider}`,
    stream: (request, call) => new ModelCall(modelFor(request.model), request, call, options, noteOnce).events(),
    models: async () => names.map((id) => ({ id, object: 'model', created: 0, owned_by: 'ai-sdk' })),
  };
}

const isCount: OptionCheck = (value) => (Number.isSafeInteger(value) && (value as number) >= 0) || 'a whole number';

const OPTION_CHECKS: Readonly<Record<string, OptionCheck>> = {
  providerOptions: (value) => isRecord(value) || isFunction(value) === true || 'an object or a function',
  models: (value) => (Array.isArray(value) && value.every((name) => typeof name === 'string')) || 'a list of names',
  retries: isCount,
};

function isModel(value: unknown): value is AiSdkModel {
  const { specificationVersion, doStream } = Object(value) as JsonObject;
  return VERSIONS.has(specificationVersion as string) && typeof doStream === 'function';
}

class ModelCall {
  private readonly model: AiSdkModel;
  private readonly request: ModelRequest;
  private readonly call: UpstreamCall;
  private readonly options: AiSdkOptions;
  private readonly note: (note: Parameters<UpstreamCall['note']>[0]) => void;
  private readonly stopped = new AbortController();

  constructor(
    model: AiSdkModel,
    request: ModelRequest,
    call: UpstreamCall,
    options: AiSdkOptions,
    noteOnce: ReturnType<typeof noteOncePerCall>,
  ) {
    this.model = model;
    this.request = request;
    this.call = call;
    this.options = options;
    this.note = (note) => noteOnce(call, note);
  }

  async *events(): AsyncGenerator<readonly ModelEvent[], void> {
    const { signal, limits } = this.call;
    signal.throwIfAborted();
    const watch = watchdog(signal, limits.firstByteTimeoutMs, limits.idleTimeoutMs);
    const stop = (reason: unknown) => this.stopped.abort(reason);
    watch.call.running = { stopped: stop };
    const shown = (error: unknown, convert: (error: unknown) => ApiError) =>
      watch.call.aborted ? watch.call.reason : convert(error);
    try {
      const stream = await this.open().catch((error: unknown) => {
        throw shown(error, requestError);
      });
      const reader = new AnswerReader(this.note);
      try {
        for await (const parts of this.batches(stream)) {
          watch.reset();
          const events: ModelEvent[] = [];
          const failure = takeAll(reader, parts, events);
          // Events before an error still count.
          if (events.length > 0) yield events;
          if (failure !== undefined) throw failure;
          if (reader.isDone) return watch.finish();
        }
      } catch (error) {
        throw shown(error, streamError);
      }
      throw new ApiError('upstream_truncated', 'The model server broke off its answer.');
    } finally {
      watch.stop();
      stop(new Error('Nobody reads it.'));
    }
  }

  /** The stream of the first attempt that begins one. */
  private async open(): Promise<ReadableStream> {
    const { options, call } = this;
    const asked = this.callOptions();
    const most = Math.min(options.retries ?? 2, call.retries ?? Number.POSITIVE_INFINITY);
    for (let retry = 0; ; retry += 1) {
      call.onAttempt?.({ attempt: retry + 1, host: this.model.provider });
      try {
        // A provider may not listen to its signal. The cast: the options are those of the interface's version.
        const begin = async () => this.model.doStream(asked as never);
        const { stream } = await untilAborted(this.stopped.signal, begin);
        return stream;
      } catch (error) {
        const rest = retry < most ? pauseAfter(error, retry) : undefined;
        if (rest === undefined || this.stopped.signal.aborted) throw error;
        await pause(rest, undefined, { signal: this.stopped.signal });
      }
    }
  }

  /** The parts that arrived together: the stream hands them out one by one. */
  private async *batches(stream: ReadableStream): AsyncGenerator<readonly unknown[], void> {
    const reader = stream.getReader();
    const { signal } = this.stopped;
    try {
      for (let next = reader.read(); ; ) {
        const pending = next;
        const first = await untilAborted(signal, () => pending);
        if (first.done) return;
        const parts: unknown[] = [first.value];
        const later = tick(LATER);
        next = reader.read();
        while (parts.length < MAX_BATCH) {
          // A failure and the end are met where the next batch begins.
          const quick = await Promise.race([next.catch(() => LATER), later]);
          if (typeof quick === 'symbol' || quick.done) break;
          parts.push(quick.value);
          next = reader.read();
        }
        next.catch(() => {});
        yield parts;
      }
    } finally {
      reader.cancel().catch(() => {});
    }
  }

  private callOptions(): JsonObject {
    const { request, model, options } = this;
    // The cast: checked when the model was found.
    const specification = model.specificationVersion as Specification;
    const { textFormat: format, toolChoice, reasoningEffort: effort } = request;
    this.noteDropped(specification);
    const given =
      typeof options.providerOptions === 'function' ? options.providerOptions(request) : options.providerOptions;
    const tools = request.tools.map(({ name, description, parameters, strict }) => ({
      type: 'function',
      name,
      ...(description === undefined ? {} : { description }),
      inputSchema: parameters ?? { type: 'object', properties: {} },
      ...(strict === undefined || specification === 'v2' ? {} : { strict }),
    }));
    const choice = typeof toolChoice === 'object' ? { type: 'tool', toolName: toolChoice.name } : { type: toolChoice };
    return definedFields({
      prompt: toPrompt(request, specification, (item) => this.note(skippedItem(item, 'a prompt of the AI SDK'))),
      abortSignal: this.stopped.signal,
      maxOutputTokens: request.maxOutputTokens,
      temperature: request.temperature,
      topP: request.topP,
      topK: request.topK,
      stopSequences: request.stopSequences,
      presencePenalty: request.presencePenalty,
      frequencyPenalty: request.frequencyPenalty,
      tools: tools.length > 0 ? tools : undefined,
      toolChoice: tools.length > 0 && toolChoice !== undefined ? choice : undefined,
      responseFormat:
        format === undefined || format.type === 'text'
          ? undefined
          : definedFields({
              type: 'json',
              ...(format.type === 'json_schema'
                ? { schema: format.schema, name: format.name, description: format.description }
                : {}),
            }),
      reasoning: specification === 'v4' && effort !== undefined && EFFORTS.has(effort) ? effort : undefined,
      providerOptions: given,
    });
  }

  /** Settings that the interface cannot say. */
  private noteDropped(specification: Specification): void {
    const { request } = this;
    const dropped: Readonly<Record<string, boolean>> = {
      'reasoning.effort': request.reasoningEffort !== undefined && specification !== 'v4',
      top_logprobs: request.topLogprobs !== undefined,
      'text.verbosity': request.verbosity !== undefined && request.verbosity !== 'medium',
      'parallel_tool_calls: false': request.parallelToolCalls === false && request.tools.length > 0,
      service_tier: request.serviceTier !== undefined && request.serviceTier !== 'auto',
      prompt_cache_options: request.promptCacheOptions !== undefined,
      moderation: request.moderation !== undefined,
    };
    for (const [setting, isDropped] of Object.entries(dropped)) {
      const message = `The AI SDK's interface has no field for ${setting}; set providerOptions where the provider has one.`;
      if (isDropped) this.note({ code: 'setting_dropped', message });
    }
  }
}

const LATER = Symbol('later');

function takeAll(reader: AnswerReader, parts: readonly unknown[], events: ModelEvent[]): unknown {
  try {
    for (const part of parts) if (!reader.isDone) reader.take(part, events);
  } catch (error) {
    return error;
  }
  return undefined;
}
