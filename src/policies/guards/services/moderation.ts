/** Asks a moderation endpoint, or a guard model, whether a text may pass. */
import type { Guard, GuardVerdict } from '../../../ports/guard.ts';
import { checkOptions, isFunction, positiveInteger } from '../../../ports/host/options-check.ts';
import { urlBelow } from '../../../ports/host/url-below.ts';
import { DEFAULT_LIMITS } from '../../../ports/limits.ts';
import type { Upstream, UpstreamCall } from '../../../ports/upstream.ts';
import { isRecord } from '../../../protocol/record.ts';
import { GUARD_CHECKS, type GuardSettingsOptions } from '../shared/guard-options.ts';
import { isServiceKey, isServiceURL, isText, isTexts, postJson } from './post-json.ts';

/** The service that judges: either an endpoint or a guard model; `undefined` means omitted. */
export interface ModerationOptions extends GuardSettingsOptions {
  /** The address up to and including `/v1`, below which `/moderations` is. */
  readonly baseURL?: string | undefined;
  /** Sent as a bearer token. Default: none. */
  readonly apiKey?: string | undefined;
  /** A model server with a guard model, such as `chatCompletionsUpstream()`. */
  readonly upstream?: Upstream | undefined;
  /** The model's name. Default: the endpoint's own, or the only model that `upstream` lists. */
  readonly model?: string | undefined;
  /** The only categories of the endpoint that block. Default: all that it flags. */
  readonly categories?: readonly string[] | undefined;
  /** The system prompt of the guard model. Default: none, as Llama Guard has its own. */
  readonly instructions?: string | undefined;
  /**
   * Reads the guard model's answer. Default: `safe` passes, `unsafe` blocks, with the categories of its next line, as Llama
   * Guard writes; anything else is a failure.
   */
  readonly read?: ((answer: string) => GuardVerdict) | undefined;
  /** The minimum number of characters of a stream that are held back, so that there is enough text to judge. Default: 512. */
  readonly lookahead?: number | undefined;
}

const LOOKAHEAD = 512;
/** The maximum length of a guard model's answer, in characters. */
const MAX_ANSWER_LENGTH = 4096;

/**
 * A guard that blocks what an OpenAI-compatible `/moderations` endpoint flags, or a guard model judges unsafe. Each text,
 * or window of a stream, is one request. Throws a `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import { chatCompletionsUpstream, responsesRouter } from 'express-open-responses';
 * import { moderation } from 'express-open-responses/guards';
 *
 * const upstream = chatCompletionsUpstream({ baseURL: 'http://localhost:8000/v1' });
 * responsesRouter({ guards: { output: [moderation({ upstream, model: 'llama-guard-3' })] } });
 * ```
 */
export function moderation(options: ModerationOptions): Guard {
  checkOptions('moderation', options, {
    ...GUARD_CHECKS,
    baseURL: isServiceURL,
    apiKey: isServiceKey,
    upstream: (value) => (isRecord(value) && typeof value.stream === 'function') || 'an upstream',
    model: isText,
    categories: isTexts,
    instructions: isText,
    read: isFunction,
    lookahead: positiveInteger,
  });
  const { baseURL, upstream, model, mode, timeoutMs, onFailure, lookahead = LOOKAHEAD } = options;
  if ((baseURL === undefined) === (upstream === undefined))
    throw new TypeError('moderation: one of baseURL and upstream must be given');
  if (upstream && model === undefined && !upstream.models)
    throw new TypeError('moderation: model is required with an upstream that lists no models');
  const inspect = upstream ? modelInspection(upstream, options) : endpointInspection(String(baseURL), options);
  return { name: 'moderation', mode, timeoutMs, onFailure, lookahead, inspect };
}

function endpointInspection(baseURL: string, { apiKey, model, categories }: ModerationOptions): Guard['inspect'] {
  const url = urlBelow(baseURL, 'moderations');
  return async ({ text, signal }) => {
    const body = { input: text, ...(model === undefined ? {} : { model }) };
    const answer = await postJson({ service: 'The moderation endpoint', url, apiKey, body, signal });
    const [result] = isRecord(answer) && Array.isArray(answer.results) ? answer.results : [];
    if (!isRecord(result) || typeof result.flagged !== 'boolean')
      throw new Error('The moderation endpoint answered in another form.');
    const verdicts = isRecord(result.categories) ? result.categories : {};
    const names = Object.keys(verdicts).filter((name) => verdicts[name] === true);
    // The categories that block; `flagged` itself where the endpoint names none.
    let flagged: readonly string[] = names.length > 0 ? names : ['flagged'];
    if (categories) flagged = names.filter((name) => categories.includes(name));
    else if (!result.flagged) flagged = [];
    return flagged.length === 0 ? { action: 'pass' } : blockVerdict(flagged);
  };
}

/** The names are the endpoint's own. */
function blockVerdict(categories: readonly string[]): GuardVerdict {
  const names = categories.slice(0, 8).map((name) => name.slice(0, 64));
  return { action: 'block', reason: `It was flagged as ${names.join(', ')}.`, rule: names.join(' ') };
}

function modelInspection(
  upstream: Upstream,
  { model, instructions, read = readVerdict }: ModerationOptions,
): Guard['inspect'] {
  let modelName = model;
  return async ({ text, signal }) => {
    const call: UpstreamCall = { signal, headers: new Headers(), limits: DEFAULT_LIMITS, note: () => {} };
    if (modelName === undefined) {
      // Asked once; a failure is asked again.
      const models = (await upstream.models?.(call)) ?? [];
      const [id] = models.map((each) => each.id);
      if (typeof id !== 'string' || models.length !== 1)
        throw new Error(`The guard model server lists ${models.length} models: name one as the option model.`);
      modelName = id;
    }
    const request = {
      model: modelName,
      ...(instructions === undefined ? {} : { instructions }),
      items: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }],
      tools: [],
      temperature: 0,
    };
    let answer = '';
    for await (const batch of upstream.stream(request, call)) {
      for (const event of batch) if (event.type === 'text-delta') answer += event.text;
      if (answer.length > MAX_ANSWER_LENGTH) throw new Error('The guard model wrote more than a verdict.');
    }
    return read(answer);
  };
}

/** Only names such as `S1`: hooks receive them, and a manipulated model could write anything there. */
const CATEGORY = /^[\w/-]{1,32}$/;

function readVerdict(answer: string): GuardVerdict {
  const [verdict = '', categories = ''] = answer.trim().split('\n');
  const word = verdict.trim().toLowerCase();
  if (word === 'safe') return { action: 'pass' };
  if (word !== 'unsafe') throw new Error('The guard model wrote no verdict.');
  const names = categories.split(',').map((name) => name.trim());
  const validNames = names.filter((name) => CATEGORY.test(name));
  return blockVerdict(validNames.length > 0 ? validNames : ['unsafe']);
}
