/** The upstream for any language model of the AI SDK: Bedrock, Vertex, an agent, a mock. */
import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import { checkOptions, isFunction, type OptionCheck } from '../../ports/host/options-check.ts';
import type { Upstream, UpstreamCall } from '../../ports/upstream.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import type { Note } from '../../protocol/note.ts';
import { definedFields, isRecord, type JsonObject } from '../../protocol/record.ts';
import { mapStream } from '../../streams/pull-stream.ts';
import { untilAborted } from '../../streams/until-aborted.ts';
import { webStreamBatches } from '../../streams/web-stream-batches.ts';
import { Watchdog } from '../http/connection/watchdog.ts';
import { lostSettings } from '../http/lost-settings.ts';
import { noteOncePerCall } from '../http/note-once.ts';
import { type ServerOptions, serverChecks } from '../http/server-options.ts';
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
export interface AiSdkOptions extends Pick<ServerOptions, 'retries'> {
  /** What every call gives to the provider, by its name, such as `{ google: { safetySettings } }`; or by request. Default: nothing. */
  readonly providerOptions?:
    | Readonly<Record<string, unknown>>
    | ((request: ModelRequest) => Readonly<Record<string, unknown>>)
    | undefined;
  /** The names that `GET /models` lists. Default: that of the model; none for a function. */
  readonly models?: readonly string[] | undefined;
}

const OWNER = 'aiSdkUpstream';
const VERSIONS: ReadonlySet<string> = new Set(['v2', 'v3', 'v4']);
const LOST_SETTINGS = [
  ...(['top_logprobs', 'text.verbosity', 'parallel_tool_calls: false', 'service_tier'] as const),
  ...(['prompt_cache_options', 'prompt_cache_retention', 'moderation'] as const),
];
const NO_PARAMETERS = { type: 'object', properties: {} };
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
  const isFinder = typeof model === 'function' && !isModel(model);
  const one = isFinder ? undefined : checkModel(model, 'the model must be one of the AI SDK, or a function');
  const modelFor = (name: string) =>
    isFinder ? checkModel(model(name), 'the function must return a language model') : (one as AiSdkModel);
  const noteOnce = noteOncePerCall();
  const names = options.models ?? (one ? [one.modelId] : []);
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
  retries: serverChecks.retries,
};

function checkModel(value: unknown, rule: string): AiSdkModel {
  if (isModel(value)) return value;
  throw new TypeError(`${OWNER}: ${rule}, got ${inspect(value, { depth: 0 })}`);
}

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
    const parts = webStreamBatches(stream, stopping.signal, () => watch.reset());
    yield* mapStream(parts, new AnswerReader(note, limits.outputBytes));
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
    // The cast: the options are those of the interface's version.
    const opening = (async () => model.doStream(fields as never))();
    try {
      // A provider may not listen to its signal: nobody reads the stream that it begins then.
      const { stream } = await untilAborted(signal, () => opening);
      return stream;
    } catch (error) {
      if (signal.aborted) opening.then(({ stream }) => stream.cancel(error)).catch(() => {});
      const rest = retry < retries ? pauseAfter(error, retry) : undefined;
      if (rest === undefined || signal.aborted) throw error;
      await pause(rest, undefined, { signal });
    }
  }
}

/** The options of `doStream`; notes the settings that the interface cannot say. */
function callOptions(model: AiSdkModel, request: ModelRequest, options: AiSdkOptions, note: (note: Note) => void) {
  // The cast: checked when the model was found.
  const version = model.specificationVersion as Specification;
  const { textFormat: format, toolChoice: choice, reasoningEffort: effort } = request;
  const { maxOutputTokens, temperature, topP, topK, stopSequences, presencePenalty, frequencyPenalty } = request;
  const { providerOptions } = options;
  const lost = lostSettings(request, version === 'v4' ? LOST_SETTINGS : ['reasoning.effort', ...LOST_SETTINGS]);
  for (const setting of lost) {
    const message = `The AI SDK's interface has no field for ${setting}; set providerOptions where the provider has one.`;
    note({ code: 'setting_dropped', message });
  }
  const tools = request.tools.map(({ name, description, parameters, strict }) => {
    const known = version === 'v2' ? {} : { strict };
    return definedFields({ type: 'function', name, description, inputSchema: parameters ?? NO_PARAMETERS, ...known });
  });
  const schema = format?.type === 'json_schema' ? format : undefined;
  const json = { type: 'json', schema: schema?.schema, name: schema?.name, description: schema?.description };
  const choiceField = typeof choice === 'object' ? { type: 'tool', toolName: choice.name } : { type: choice };
  return definedFields({
    prompt: toPrompt(request, version, (item) => note(skippedItem(item, 'a prompt of the AI SDK'))),
    ...{ maxOutputTokens, temperature, topP, topK, stopSequences, presencePenalty, frequencyPenalty },
    tools: tools.length > 0 ? tools : undefined,
    toolChoice: tools.length > 0 && choice !== undefined ? choiceField : undefined,
    responseFormat: format === undefined || format.type === 'text' ? undefined : definedFields(json),
    reasoning: version === 'v4' && effort !== undefined && EFFORTS.has(effort) ? effort : undefined,
    providerOptions: typeof providerOptions === 'function' ? providerOptions(request) : providerOptions,
  });
}
