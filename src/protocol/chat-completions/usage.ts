/** What a Chat Completions server reports beside its answer, normalized: tokens and costs, the model and the service tier. */
import type { ModelEvent, Usage } from '../events.ts';
import { isRecord, type JsonObject, valueAt } from '../record.ts';
import { jsonWeight } from './own-fields.ts';
import { isBlankValue } from './unread-fields.ts';

/** Where a count may be: in the usage, or in a nested object. */
type Place = readonly [field: string, inner?: string];

const INPUT_DETAILS = ['prompt_tokens_details', 'input_tokens_details'] as const;
const OUTPUT_DETAILS = ['completion_tokens_details', 'output_tokens_details'] as const;

/** The names that providers use for each count, and the versions of the AI SDK's interface. The first one that is not zero counts. */
const NAMES = {
  input: [['prompt_tokens'], ['input_tokens'], ['inputTokens'], ['inputTokens', 'total']],
  output: [['completion_tokens'], ['output_tokens'], ['outputTokens'], ['outputTokens', 'total']],
  total: [['total_tokens'], ['totalTokens']],
  cached: [
    ...INPUT_DETAILS.map((details): Place => [details, 'cached_tokens']),
    // DeepSeek, Mistral, Moonshot, Inception, and those that pass Anthropic's names on.
    ['prompt_cache_hit_tokens'],
    ['num_cached_tokens'],
    ['cached_tokens'],
    ['cached_input_tokens'],
    ['cache_read_input_tokens'],
    ['cachedInputTokens'],
    ['inputTokens', 'cacheRead'],
  ],
  // OpenAI and OpenRouter count them in the details; Anthropic and those that pass its counts on count them separately.
  cacheWrites: [
    ...INPUT_DETAILS.flatMap((details): Place[] => [
      [details, 'cache_write_tokens'],
      [details, 'cache_creation_tokens'],
    ]),
    ['cache_creation_input_tokens'],
    ['cache_write_tokens'],
    ['inputTokens', 'cacheWrite'],
  ],
  reasoning: [
    ...OUTPUT_DETAILS.map((details): Place => [details, 'reasoning_tokens']),
    ...([['reasoning_tokens'], ['reasoningTokens'], ['outputTokens', 'reasoning']] as const),
  ],
} as const satisfies Readonly<Record<string, readonly Place[]>>;

/**
 * Where providers report the cost, and how many of their units are one dollar: OpenRouter and Vercel, Perplexity, Venice,
 * DeepInfra, xAI.
 */
const COSTS: readonly (readonly [place: Place, perDollar: number])[] = [
  [['cost'], 1],
  [['cost', 'total_cost'], 1],
  [['cost', 'usd'], 1],
  [['estimated_cost'], 1],
  [['cost_in_usd_ticks'], 10_000_000_000],
];

/** The usage in a chunk or a whole answer: Groq streams it beside the choices, Moonshot inside a choice. */
export function usageIn({ usage, x_groq: groq, choices }: JsonObject): JsonObject | undefined {
  if (isRecord(usage)) return usage;
  if (isRecord(groq) && isRecord(groq.usage)) return groq.usage;
  const [choice] = Array.isArray(choices) ? choices : [];
  return isRecord(choice) && isRecord(choice.usage) ? choice.usage : undefined;
}

/** Characters of a usage that is merged; real ones have some hundred. */
const MAX_MERGED_LENGTH = 4096;

/**
 * The usage that the answer has reported so far, with a later report. A report that lacks one of the two counts adds to the earlier
 * ones, and the total is their sum: some servers report the prompt at the beginning and the output at the end, others zeros behind the counts.
 */
export function mergeUsage(earlier: JsonObject | undefined, report: JsonObject): JsonObject {
  const [inputNow, outputNow] = [firstCount(report, NAMES.input), firstCount(report, NAMES.output)];
  if (!earlier || (inputNow && outputNow)) return report;
  const more = Object.entries(report).filter(([, value]) => !isBlankValue(value) && readNumber(value) !== 0);
  if (more.length === 0) return earlier;
  const merged: Record<string, unknown> = { ...earlier, ...Object.fromEntries(more) };
  const [input, output] = [firstCount(merged, NAMES.input), firstCount(merged, NAMES.output)];
  // A report may have the total of only its own counts: of one of the two, or of none.
  const total = inputNow || outputNow ? (input ?? 0) + (output ?? 0) : firstCount(earlier, NAMES.total);
  if (total) for (const [name] of NAMES.total) if (name in merged) merged[name] = total;
  if ((jsonWeight(merged) ?? MAX_MERGED_LENGTH) < MAX_MERGED_LENGTH) return merged;
  // Without a bound, a server that names another field in each report would fill the memory.
  const counts = Object.entries({ prompt_tokens: input, completion_tokens: output, total_tokens: total });
  return { ...report, ...Object.fromEntries(counts.filter(([, count]) => count !== undefined)) };
}

/** Reads a `usage` object; undefined if it holds no counts. Missing details are zero, and the total is the sum. */
export function readUsage(value: unknown): Usage | undefined {
  if (!isRecord(value)) return undefined;
  const reportedInput = firstCount(value, NAMES.input);
  const reportedOutput = firstCount(value, NAMES.output);
  const reportedTotal = firstCount(value, NAMES.total);
  if (reportedInput === undefined && reportedOutput === undefined && !reportedTotal) return undefined;
  const input = reportedInput ?? 0;
  const { output, reasoning } = countOutput(
    input,
    reportedOutput ?? 0,
    reportedTotal ?? 0,
    firstCount(value, NAMES.reasoning) ?? 0,
  );
  // xAI on Azure reports more of them than there are.
  const cached = Math.min(firstCount(value, NAMES.cached) ?? 0, input);
  const written = firstCount(value, NAMES.cacheWrites) ?? 0;
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: cached,
      // OpenRouter reports tokens that were written and read by one request as both.
      cache_write_tokens: Math.min(written, input - cached),
    },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}

/** The cost in dollars, if this usage, or this answer or chunk beside its usage, reports one. */
export function costIn(usage: JsonObject): number | undefined {
  for (const [place, perDollar] of COSTS) {
    const cost = readNumber(valueAt(usage, place));
    if (cost !== undefined) return cost / perDollar;
  }
  return undefined;
}

/**
 * Output includes reasoning. xAI and Inception count reasoning in the total only, Gemini has no field for it, and some
 * gateways of Gemini count it in neither.
 */
function countOutput(
  input: number,
  completed: number,
  total: number,
  reasoning: number,
): { readonly output: number; readonly reasoning: number } {
  const left = total - input - completed;
  if (left > 0) return { output: completed + left, reasoning: reasoning || left };
  if (reasoning > MISCOUNT * completed) return { output: completed + reasoning, reasoning };
  return { output: completed, reasoning: Math.min(reasoning, completed) };
}

/** Gateways estimate reasoning by a tokenizer of their own: it may seem a little more than the output that it is part of. */
const MISCOUNT = 2;

function firstCount(usage: JsonObject, places: readonly Place[]): number | undefined {
  let zero: number | undefined;
  for (const place of places) {
    const value = readNumber(valueAt(usage, place));
    if (value === undefined) continue;
    // Sums of what no server can mean would be infinite, which JSON writes as null.
    if (value >= 1) return Math.min(Math.floor(value), Number.MAX_SAFE_INTEGER);
    zero = 0;
  }
  return zero;
}

const DECIMAL = /^\d{1,20}(?:\.\d{1,40})?(?:e-?\d{1,3})?$/i;

/** Undefined for what is no number of something. Some servers write numbers as text, as OpenCode does with the cost. */
export function readNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' && DECIMAL.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) && number >= 0 ? number : undefined;
}

/** Maximum characters of a model's name and of a tier's; longer ones are ignored. */
const MAX_NAME_LENGTH = 256;

/** Undefined if it reports neither. */
export function modelInfo(model: unknown, serviceTier: unknown): ModelEvent | undefined {
  const named = isModelName(model) ? { model } : {};
  const tiered = isModelName(serviceTier) ? { serviceTier } : {};
  const info = { ...named, ...tiered };
  return Object.keys(info).length > 0 ? { type: 'model-info', ...info } : undefined;
}

function isModelName(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.length <= MAX_NAME_LENGTH;
}
