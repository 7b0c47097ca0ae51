/** Reads from a server's refusal which field, keyword or limit it does not take, so that the request can do without. */
import type { JsonObject } from '../../protocol/record.ts';
import { EFFORTS, type Effort, type ProviderSettings, REFUSABLE_FIELDS, type RefusableField } from './providers.ts';

/** What a refusal teaches. */
interface Lesson {
  /** The settings with which the request is sent again. */
  readonly settings: Partial<ProviderSettings>;
  /** Whether they hold for other requests to this model, too. */
  readonly isLasting: boolean;
  /** What is different now, to end a sentence. */
  readonly change: string;
}

/** Maximum characters of a refusal that are read; some servers quote the request in it. */
const MAX_READ = 16 * 1024;
/** Maximum depth of an error within errors. */
const MAX_DEPTH = 8;
/** Fields of an error that quote the request. */
const QUOTES: ReadonlySet<string> = new Set(['input', 'ctx', 'url', 'failed_generation']);

/**
 * The lesson of a refusal with this status and answer, of a request with this body. Undefined where nothing may be left
 * out: what a request means, its messages, its tools, its choice of a tool and its format, is never changed.
 */
export function readLesson(
  status: number,
  said: unknown,
  body: JsonObject,
  settings: ProviderSettings,
): Lesson | undefined {
  const pieces: string[] = [];
  collectTexts(said, pieces, 0);
  const text = pieces.join('\n').slice(0, MAX_READ);
  const refusal = { text, words: wordsIn(text), body, settings };
  if (status !== 400 && status !== 422) return status === 500 ? schemaLesson(refusal) : undefined;
  for (const read of READERS) {
    const lesson = read(refusal);
    if (lesson) return lesson;
  }
  return undefined;
}

interface Refusal {
  readonly text: string;
  /** The words of it, each in the form of `plain`. */
  readonly words: ReadonlySet<string>;
  readonly body: JsonObject;
  readonly settings: ProviderSettings;
}

function wordsIn(text: string): ReadonlySet<string> {
  return new Set(text.match(/[A-Za-z][A-Za-z0-9_]*/g)?.map(plainWord));
}

/** Servers write `prompt_cache_key` and `promptCacheKey`. */
function plainWord(name: string): string {
  return name.replaceAll('_', '').toLowerCase();
}

function collectTexts(value: unknown, pieces: string[], depth: number): void {
  // A number alone is a code, and no limit.
  if (typeof value === 'string' && !/^\d+$/.test(value)) pieces.push(value.slice(0, MAX_READ));
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH || pieces.length > 1000) return;
  for (const [name, each] of Object.entries(value)) if (!QUOTES.has(name)) collectTexts(each, pieces, depth + 1);
}

const READERS: readonly ((refusal: Refusal) => Lesson | undefined)[] = [
  schemaLesson,
  callIdLesson,
  nameLengthLesson,
  imageDetailLesson,
  formatLesson,
  limitFieldLesson,
  effortLesson,
  thoughtLesson,
  answerLimitLesson,
  refusedFieldLesson,
];

function schemaLesson({ text, body, settings }: Refusal): Lesson | undefined {
  if (!Array.isArray(body.tools)) return undefined;
  const lower = text.toLowerCase();
  const isGrammar = lower.includes('grammar');
  const isSchema = SCHEMA_WORDS.some((words) => lower.includes(words)) && !lower.includes('response_format');
  const { toolSchemas: current } = settings;
  if ((!isGrammar && !isSchema) || current === 'plain') return undefined;
  const toolSchemas = isGrammar && current !== 'llama.cpp' ? 'llama.cpp' : 'plain';
  return { settings: { toolSchemas }, isLasting: true, change: 'with simpler schemas of its tools' };
}

const SCHEMA_WORDS = [
  'invalid schema for function',
  'invalid_function_parameters',
  'function_declarations',
  'input_schema',
  '.function.parameters',
  '.parameters',
  'json schema',
  'unrecognized schema',
  'tool schema',
] as const;

function callIdLesson({ text, settings }: Refusal): Lesson | undefined {
  if (!/tool[_ ]?(?:call|use)[_ .]?id|tool_calls(?:\[|\.)\d+\]?\.id\b/i.test(text)) return undefined;
  // The digits of a pattern are no length.
  const lengths = readNumbers(text.replaceAll('0-9', '')).filter((each) => each === 9 || each === 40 || each === 64);
  const callIds = lengths.includes(9)
    ? 'mistral'
    : lengths.includes(40)
      ? 'short'
      : lengths.includes(64)
        ? 'long'
        : 'word';
  if (settings.callIds !== 'any' || (callIds === 'word' && !/pattern|alphanumeric|a-z/i.test(text))) return undefined;
  return { settings: { callIds }, isLasting: true, change: 'with other ids of its calls' };
}

/** Limits of a tool's name and description. */
function nameLengthLesson({ text, words }: Refusal): Lesson | undefined {
  const isTools = words.has('tools') || words.has('function') || words.has('tool');
  const max = Number(
    /(?:max(?:imum)? length(?: of)?|at most|no longer than|up to|less than or equal to)\D{0,16}(\d{2,6})/i.exec(
      text,
    )?.[1] ?? 0,
  );
  if (!isTools || max < 16) return undefined;
  if (words.has('description'))
    return {
      settings: { maxToolDescription: max },
      isLasting: true,
      change: `with descriptions of tools of at most ${max} characters`,
    };
  if (!words.has('name') || max > 256) return undefined;
  return {
    settings: { maxToolName: max },
    isLasting: true,
    change: `with names of tools of at most ${max} characters`,
  };
}

function imageDetailLesson({ words, body }: Refusal): Lesson | undefined {
  const isDetail = words.has('imagedetail') || (words.has('detail') && (words.has('image') || words.has('imageurl')));
  if (!isDetail || !JSON.stringify(body.messages).includes('"detail":')) return undefined;
  return { settings: { imageDetails: [] }, isLasting: true, change: "without the 'detail' of its images" };
}

function formatLesson({ words, body }: Refusal): Lesson | undefined {
  const isFormat =
    words.has('responseformat') || words.has('structured') || words.has('jsonschema') || words.has('json');
  const isStream = words.has('stream') || words.has('streaming') || words.has('streamed');
  if (!body.response_format || body.stream !== true || !isFormat || !isStream) return undefined;
  return {
    settings: { unstreamedFormats: ['json_object', 'json_schema'] },
    isLasting: true,
    change: 'for an answer in one piece',
  };
}

function limitFieldLesson({ text, words, body }: Refusal): Lesson | undefined {
  const sent = body.max_tokens === undefined ? 'max_completion_tokens' : 'max_tokens';
  const other = sent === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
  if (body[sent] === undefined || !words.has(plainWord(sent)) || !isRefused(text)) return undefined;
  const isOther = words.has(plainWord(other)) ? /\binstead\b/i.test(text) : sent === 'max_completion_tokens';
  return isOther ? { settings: { maxTokensField: other }, isLasting: true, change: `with '${other}'` } : undefined;
}

function effortLesson({ text, words, body }: Refusal): Lesson | undefined {
  const { reasoning_effort: sent } = body;
  const isNamed = words.has('reasoningeffort') || words.has('effort') || /invalid (?:reasoning|think)/i.test(text);
  if (sent === undefined || !isNamed || isAside(text, body)) return undefined;
  const listed = text.slice(
    text.search(/one of|supported|must be|allowed|available|expected|should be|valid|accepts/i),
  );
  const named = new Set(listed.match(/\b[a-z]+\b/g));
  const efforts = EFFORTS.filter((effort: Effort) => effort !== sent && named.has(effort));
  // Groq's models that think or do not: without a word they think.
  if (named.has('default') && sent !== 'none' && efforts.every((effort) => effort === 'none'))
    return leftOutLesson(['reasoning_effort'], false);
  // A client's word that is no effort must not decide for other clients.
  if (efforts.length > 0 && EFFORTS.some((effort) => effort === sent))
    return { settings: { efforts }, isLasting: true, change: 'with a reasoning effort that it takes' };
  return undefined;
}

/** The effort is refused by other names: thoughts that the model has not, or cannot do without. */
function thoughtLesson({ text, words, body }: Refusal): Lesson | undefined {
  if (body.reasoning_effort === undefined || words.has('toolchoice') || !THOUGHTS_REFUSED.test(text)) return undefined;
  return leftOutLesson(['reasoning_effort'], EFFORTS.includes(body.reasoning_effort as Effort));
}

const THOUGHTS_REFUSED =
  /does(?:n't| not) support (?:reasoning|thinking)|\b(?:reasoning|thinking|think)(?: (?:level|budget|value|mode))?(?: "\w{1,16}")? (?:is|are) (?:not supported|not available|not enabled|mandatory)|only works in thinking mode/i;

/** Whether the effort is only mentioned, behind another field of the request. */
function isAside(text: string, body: JsonObject): boolean {
  const before = text.slice(0, Math.max(text.search(/reasoning[_ .]?effort/i), 0));
  return REFUSABLE_FIELDS.some((field) => body[field] !== undefined && before.includes(field));
}

const LIMITS = ['maxtokens', 'maxcompletiontokens', 'maxoutputtokens', 'maxnewtokens'] as const;
/** Less room than this for an answer counts as none: the conversation is what is too long. */
const LEAST_ROOM = 1024;
/** A lower number is another one: no model writes so little at most. */
const LEAST_LIMIT = 256;

function answerLimitLesson({ text, words, body }: Refusal): Lesson | undefined {
  const sent = body.max_tokens ?? body.max_completion_tokens;
  if (typeof sent !== 'number') return undefined;
  const isInput = words.has('prompt') || words.has('input') || words.has('inputs');
  const isNamed =
    LIMITS.some((name) => words.has(name)) ||
    (words.has('tokens') && (words.has('completion') || words.has('output') || (words.has('maximum') && !isInput)));
  if (!isNamed && !text.includes(String(sent))) return undefined;
  const numbers = readNumbers(text);
  // A limit of both together: what the conversation leaves is the answer's.
  if (words.has('context') || (isInput && text.includes('+'))) return contextLesson(numbers, sent);
  const max = numbers.filter((each) => each < sent).reduce((most, each) => Math.max(most, each), 0);
  if (!isNamed || max < LEAST_LIMIT || !/max|most|less|<=|exceed|large|range|up to|limit|supports|greater/i.test(text))
    return undefined;
  return { settings: { maxOutputTokens: { '*': max } }, isLasting: true, change: `for at most ${max} tokens` };
}

/** The limit is right for the model, and too high after so long a conversation. */
function contextLesson(numbers: readonly number[], sent: number): Lesson | undefined {
  const totals = new Set(numbers.map((each) => each + sent));
  const [context = 0, prompt = 0] = [...new Set(numbers)]
    .filter((each) => each !== sent && !totals.has(each))
    .toSorted((one, other) => other - one);
  const room = context - prompt;
  if (room >= sent || room < LEAST_ROOM || prompt === 0) return undefined;
  return { settings: { maxOutputTokens: { '*': room } }, isLasting: false, change: `for at most ${room} tokens` };
}

function readNumbers(text: string): readonly number[] {
  // A list such as [1,8192] has no thousands.
  const numbers = text.matchAll(/(\d{1,3}(?:[,_]\d{3})+(?!\d)|\d+)( \(exclusive\))?/g);
  return [...numbers].map(([, number = '', exclusive]) => Number(number.replace(/[,_]/g, '')) - (exclusive ? 1 : 0));
}

/** Fields whose values a client chooses, for which another client's value may be right. */
const VALUED: ReadonlySet<RefusableField> = new Set([
  'service_tier',
  'metadata',
  'prompt_cache_retention',
  'prompt_cache_options',
]);
/** Words of any text. */
const COMMON: ReadonlySet<RefusableField> = new Set(['user', 'metadata', 'stop']);
/** A field without which the answer is the same, or nearly so, may be left out for the sake of its value. */
const PLAIN: ReadonlySet<RefusableField> = new Set([...VALUED, 'verbosity', 'safety_identifier', 'prompt_cache_key']);
const INVALID_VALUE = /invalid value|unsupported value/i;
const EXCLUSIVE = /\bboth\b|only one|mutually exclusive|cannot be used together/i;
/** What holds for some requests only. */
const CONDITIONAL =
  /\bboth\b|only one|mutually exclusive|cannot be used together|\b(?:when|while|if|unless|with) thinking\b/i;

function refusedFieldLesson(refusal: Refusal): Lesson | undefined {
  const { text } = refusal;
  const fields = mentionedFields(refusal);
  // A later sentence may name other fields as an example.
  const sentence = fields.length > 1 ? text.split(/\. (?=[A-Z])/).find(isRefused) : undefined;
  const subjects = sentence === undefined ? [] : fields.filter((field) => wordsIn(sentence).has(plainWord(field)));
  const named = subjects.length > 0 ? subjects : fields;
  const isPlain = INVALID_VALUE.test(text) && named.every((field) => PLAIN.has(field));
  if (named.length === 0 || (!isPlain && !isRefused(text))) return undefined;
  const isValue = /value/i.test(text) && !/param|field|propert|argument|input|key\b|name/i.test(text);
  const isLasting = !CONDITIONAL.test(text) && !named.some((field) => isValue && VALUED.has(field));
  // Of those that exclude each other the first stays.
  const isPair = named.length > 1 && EXCLUSIVE.test(text);
  return leftOutLesson(isPair ? named.slice(1) : named, isLasting);
}

/** The fields of the request that the refusal mentions, and that may be left out. */
function mentionedFields({ text, words, body }: Refusal): readonly RefusableField[] {
  const isOfMessages = words.has('messages') || words.has('role') || words.has('roles');
  return REFUSABLE_FIELDS.filter((field) => {
    // `stop` ends the answer, and `parallel_tool_calls: false` forbids something.
    if (body[field] === undefined || field === 'stop') return false;
    if (field === 'parallel_tool_calls' && body.parallel_tool_calls !== true) return false;
    if (!words.has(plainWord(field)) && !(field.endsWith('_penalty') && words.has('penalty'))) return false;
    return !COMMON.has(field) || (!isOfMessages && isQuoted(text, field));
  });
}

function leftOutLesson(refusedFields: readonly RefusableField[], isLasting: boolean): Lesson {
  const change = `without ${refusedFields.map((field) => `'${field}'`).join(', ')}`;
  return { settings: { refusedFields }, isLasting, change };
}

/** Whether the text names the field in quotes, or in a place of its own. */
function isQuoted(text: string, field: string): boolean {
  for (let at = text.indexOf(field); at >= 0; at = text.indexOf(field, at + field.length)) {
    const before = at === 0 || `"'\`.\n`.includes(text.charAt(at - 1));
    const end = at + field.length;
    if (before && (end === text.length || `"'\`.:\n`.includes(text.charAt(end)))) return true;
  }
  return false;
}

function isRefused(text: string): boolean {
  return REFUSED.some((words) => words.test(text));
}

const REFUSED: readonly RegExp[] = [
  /unsupported|unrecogni[sz]ed|unknown|unexpected|extra|forbidden|additional propert|cannot find field|no such|deprecated/i,
  /not (?:be )?(?:supported|permitted|allowed|accepted|available|recognized|enabled)|do(?:es)?(?:n't| not) (?:support|accept|allow)/i,
  /invalid (?:\w{1,40} )?(?:field|param|argument|property|key)/i,
  // A model's one value, and what holds in one mode.
  /\bonly [\d.]{1,8} is (?:allowed|supported|accepted)|only (?:be )?(?:set|allowed|supported|permitted) (?:to 1 )?when|or unset when/i,
  /cannot both be|only one of|mutually exclusive|cannot be used together/i,
];

/** Both settings; fields that are refused add up. */
export function withLesson(settings: ProviderSettings, lesson: Partial<ProviderSettings>): ProviderSettings {
  const refusedFields = [...new Set([...settings.refusedFields, ...(lesson.refusedFields ?? [])])];
  return { ...settings, ...lesson, refusedFields };
}
