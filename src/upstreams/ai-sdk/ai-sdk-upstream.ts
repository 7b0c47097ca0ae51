/** The upstream for any language model of the AI SDK: Bedrock, Vertex, an agent, a mock. */
import { setTimeout as pause, setImmediate as tick } from 'node:timers/promises';
import { inspect } from 'node:util';
import { checkOptions, isFunction, type OptionCheck } from '../../ports/host/options-check.ts';
import type { Upstream, UpstreamCall } from '../../ports/upstream.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import type { Note } from '../../protocol/note.ts';
import { definedFields, isRecord, type JsonObject } from '../../protocol/record.ts';
import { mapStream } from '../../streams/pull-stream.ts';
import { untilAborted } from '../../streams/until-aborted.ts';
import { Watchdog } from '../http/connection/watchdog.ts';
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
const OWNER = 'aiSdkUpstream';
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
  checkOptions(OWNER, options, OPTION_CHECKS);
  if (!isModel(model) && typeof model !== 'function') {
    const found = inspect(model, { depth: 0 });
    throw new TypeError(`${OWNER}: the model must be one of the AI SDK, or a function, got ${found}`);
  }
  const modelFor = (name: string): AiSdkModel => {
    const found: unknown = isModel(model) ? model : model(name);
    if (isModel(found)) return found;
    throw new TypeError(`${OWNER}: the function must return a language model, got ${inspect(found, { depth: 0 })}`);
  };
  const noteOnce = noteOncePerCall();
  const names = options.models ?? (isModel(model) ? [model.modelId] : []);
  return {
    name: 'ai-sdk',
    stateOwner: (name) => `ai-sdk:${modelFor(name).provider}`,
    stream: (request, call) =>
      streamEvents(modelFor(request.model), request, options, call, (note) => noteOnce(call, note)),
    models: async () => names.map((id) => ({ id, object: 'model', created: 0, owned_by: 'ai-sdk' })),
  };
}

const OPTION_CHECKS: Readonly<Record<string, OptionCheck>> = {
  providerOptions: (value) => isRecord(value) || isFunction(value) === true || 'an object or a function',
  models: (value) => (Array.isArray(value) && value.every((name) => typeof name === 'string')) || 'a list of names',
  retries: (value) => (Number.isSafeInteger(value) && Number(value) >= 0) || 'a whole number',
};

function isModel(value: unknown): value is AiSdkModel {
  const { specificationVersion, doStream } = Object(value) as JsonObject;
  return VERSIONS.has(specificationVersion as string) && typeof doStream === 'function';
}

/** One call of the model. */
async function* streamEvents(
  model: AiSdkModel,
  request: ModelRequest,
  options: AiSdkOptions,
  call: UpstreamCall,
  note: (note: Note) => void,
): AsyncGenerator<readonly ModelEvent[], void> {
  const { signal, limits } = call;
  signal.throwIfAborted();
  const stopping = new AbortController();
  const watch = new Watchdog(signal, limits.firstByteTimeoutMs, limits.idleTimeoutMs);
  watch.call.running = { stopped: (reason) => stopping.abort(reason) };
  let toError = requestError;
  try {
    const fields = { ...callOptions(model, request, options, note), abortSignal: stopping.signal };
    const retries = Math.min(options.retries ?? 2, call.retries ?? Number.POSITIVE_INFINITY);
    const stream = await openStream(model, fields, retries, call);
    toError = streamError;
    yield* mapStream(partBatches(stream, watch, stopping.signal), new AnswerReader(note));
    watch.finish();
  } catch (error) {
    throw watch.call.aborted ? watch.call.reason : toError(error);
  } finally {
    watch.stop();
    stopping.abort(new Error('Nobody reads it.'));
  }
}

type CallOptions = JsonObject & { readonly abortSignal: AbortSignal };

/** The stream of the first attempt that begins one. */
async function openStream(model: AiSdkModel, fields: CallOptions, retries: number, call: UpstreamCall) {
  const { abortSignal: signal } = fields;
  for (let retry = 0; ; retry += 1) {
    call.onAttempt?.({ attempt: retry + 1, host: model.provider });
    try {
      // A provider may not listen to its signal. The cast: the options are those of the interface's version.
      const { stream } = await untilAborted(signal, async () => model.doStream(fields as never));
      return stream;
    } catch (error) {
      const rest = retry < retries ? pauseAfter(error, retry) : undefined;
      if (rest === undefined || signal.aborted) throw error;
      await pause(rest, undefined, { signal });
    }
  }
}

const LATER = Symbol('later');

/** The parts that arrived together: the stream hands them out one by one. */
async function* partBatches(stream: ReadableStream, watch: Watchdog, signal: AbortSignal) {
  const reader = stream.getReader();
  try {
    for (let next = reader.read(); ; ) {
      const pending = next;
      const first = await untilAborted(signal, () => pending);
      if (first.done) return;
      const data: unknown[] = [first.value];
      const later = tick(LATER);
      next = reader.read();
      while (data.length < MAX_BATCH) {
        // A failure and the end are met where the next batch begins.
        const quick = await Promise.race([next.catch(() => LATER), later]);
        if (typeof quick === 'symbol' || quick.done) break;
        data.push(quick.value);
        next = reader.read();
      }
      next.catch(() => {});
      watch.reset();
      yield { data };
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** The options of `doStream`; notes the settings that the interface cannot say. */
function callOptions(model: AiSdkModel, request: ModelRequest, options: AiSdkOptions, note: (note: Note) => void) {
  // The cast: checked when the model was found.
  const version = model.specificationVersion as Specification;
  const { textFormat: format, toolChoice: choice, reasoningEffort: effort } = request;
  const { providerOptions } = options;
  const lost: Readonly<Record<string, boolean>> = {
    'reasoning.effort': effort !== undefined && version !== 'v4',
    top_logprobs: request.topLogprobs !== undefined,
    'text.verbosity': request.verbosity !== undefined && request.verbosity !== 'medium',
    'parallel_tool_calls: false': request.parallelToolCalls === false && request.tools.length > 0,
    service_tier: request.serviceTier !== undefined && request.serviceTier !== 'auto',
    prompt_cache_options: request.promptCacheOptions !== undefined,
    moderation: request.moderation !== undefined,
  };
  for (const setting of Object.keys(lost).filter((name) => lost[name])) {
    const message = `The AI SDK's interface has no field for ${setting}; set providerOptions where the provider has one.`;
    note({ code: 'setting_dropped', message });
  }
  const tools = request.tools.map(({ name, description, parameters, strict }) => {
    const inputSchema = parameters ?? { type: 'object', properties: {} };
    return definedFields({
      type: 'function',
      name,
      description,
      inputSchema,
      strict: version === 'v2' ? undefined : strict,
    });
  });
  const schema = format?.type === 'json_schema' ? format : undefined;
  const json = { type: 'json', schema: schema?.schema, name: schema?.name, description: schema?.description };
  const choiceField = typeof choice === 'object' ? { type: 'tool', toolName: choice.name } : { type: choice };
  return definedFields({
    prompt: toPrompt(request, version, (item) => note(skippedItem(item, 'a prompt of the AI SDK'))),
    maxOutputTokens: request.maxOutputTokens,
    temperature: request.temperature,
    topP: request.topP,
    topK: request.topK,
    stopSequences: request.stopSequences,
    presencePenalty: request.presencePenalty,
    frequencyPenalty: request.frequencyPenalty,
    tools: tools.length > 0 ? tools : undefined,
    toolChoice: tools.length > 0 && choice !== undefined ? choiceField : undefined,
    responseFormat: format === undefined || format.type === 'text' ? undefined : definedFields(json),
    reasoning: version === 'v4' && effort !== undefined && EFFORTS.has(effort) ? effort : undefined,
    providerOptions: typeof providerOptions === 'function' ? providerOptions(request) : providerOptions,
  });
}
