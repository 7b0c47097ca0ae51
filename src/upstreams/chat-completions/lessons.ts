/** Reads from a server's refusal which field, keyword, limit, thought or order of messages it does not take, so that the request can do without. */
import type { JsonObject } from '../../protocol/record.ts';
import { isRefused, plainWord, refusalText, refusedFields, wordsIn } from '../http/refusals/refused-fields.ts';
import { thoughtsRefusedBy } from '../http/refusals/without-thoughts.ts';
import {
  EFFORTS,
  type Effort,
  type ProviderSettings,
  REFUSABLE_FIELDS,
  type RefusableField,
  type RequestSettings,
} from './providers.ts';

/** What a refusal teaches. */
interface Lesson {
  /** The settings with which the request is sent again. */
  readonly settings: Partial<RequestSettings>;
  /** Whether they hold for other requests to this model, too: `accepted`, if the server takes the second attempt. */
  readonly isLasting: boolean | 'accepted';
  /** What is different now, to end a sentence. */
  readonly change: string;
  /** Whether it is asked again without the model's earlier thoughts. Default: false. */
  readonly isWithoutThoughts?: boolean;
}

/**
 * The lesson of a refusal with this status and answer, of a request with this body. Undefined where nothing may be left
 * out: what a request means, its words, its tools, its choice of a tool and its format, is never changed.
 */
export function readLesson(
  status: number,
  said: unknown,
  body: JsonObject,
  settings: ProviderSettings,
): Lesson | undefined {
  const text = refusalText(said);
  const refusal = { text, words: wordsIn(text), body, settings };
  // llama.cpp reports with it what a grammar or a template does not take.
  if (status !== 400 && status !== 422)
    return status === 500 ? (schemaLesson(refusal) ?? orderLesson(refusal)) : undefined;
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

const READERS: readonly ((refusal: Refusal) => Lesson | undefined)[] = [
  refusedStateLesson,
  lostStateLesson,
  orderLesson,
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

/** The thoughts of the conversation are another account's, or not as their model wrote them. */
function refusedStateLesson({ text, body }: Refusal): Lesson | undefined {
  const whose = thoughtsRefusedBy(text);
  if (!whose) return undefined;
  // Claude does not go on thinking between the calls of a turn without the thoughts before them.
  const isThinking = whose === 'anthropic' && body.reasoning_effort !== undefined;
  const settings: Partial<RequestSettings> = {
    ...(isThinking ? { refusedFields: ['reasoning_effort'] } : {}),
    ...(whose === 'gemini' ? { callSignature: UNKNOWN_SIGNATURE } : {}),
  };
  return { settings, isLasting: false, change: 'without its thoughts', isWithoutThoughts: true };
}

/** The model wants thoughts back that nobody has, such as those of calls that another model made. */
function lostStateLesson({ text, body, settings }: Refusal): Lesson | undefined {
  if (/missing (?:a |the )?[`']?thought_?signature/i.test(text)) {
    const change = 'with calls that need no signature';
    return { settings: { callSignature: UNKNOWN_SIGNATURE }, isLasting: 'accepted', change };
  }
  // Claude, of a turn whose calls another model made.
  if (body.reasoning_effort !== undefined && /expected `thinking` or `redacted_thinking`/i.test(text))
    return leftOutLesson(['reasoning_effort'], false);
  const isReplayed = settings.reasoningReplay && !settings.reasoningRequired;
  if (!isReplayed || !/reasoning_content\b[^\n]{0,60}(?:must be passed back|is missing in)/i.test(text))
    return undefined;
  const change = 'with reasoning in each of its messages';
  return { settings: { reasoningRequired: true }, isLasting: 'accepted', change };
}

/** Gemini takes it for calls that it has not signed: its guide to thought signatures. */
const UNKNOWN_SIGNATURE = 'skip_thought_signature_validator';

/** The order of messages that the template of a model, or its provider, insists on. */
function orderLesson({ text }: Refusal): Lesson | undefined {
  const known = ORDERS.find(({ words }) => words.test(text));
  // Only if the server takes it: a refusal may quote these words from one tenant's messages.
  return known && { isLasting: 'accepted', ...known.lesson };
}

const ORDERS: readonly {
  readonly words: RegExp;
  readonly lesson: Pick<Lesson, 'settings' | 'change'> & Partial<Lesson>;
}[] = [
  {
    words: /system message must be|unexpected role 'system' after role/i,
    lesson: { settings: { systemMessages: 'merge' }, change: 'with one system message, at the beginning' },
  },
  {
    words: /roles must alternate/i,
    lesson: {
      settings: { systemMessages: 'merge', turns: 'alternate', afterToolResults: 'assistant' },
      change: 'with messages of the user and the assistant in turn',
    },
  },
  {
    words: /unexpected role 'user' after role 'tool'/i,
    lesson: {
      settings: { afterToolResults: 'assistant' },
      change: 'with a message of the assistant behind the results of tools',
    },
  },
  {
    words: /must end with a user message|assistant message prefill|expected last role user/i,
    lesson: { settings: { lastMessage: 'user' }, change: 'with a message of the user at its end' },
  },
  {
    // llama.cpp, of a request whose model thinks.
    words: /assistant response prefill/i,
    lesson: { settings: { lastMessage: 'user' }, change: 'with a message of the user at its end', isLasting: false },
  },
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

const CALL_ID_LENGTHS = [
  [9, 'mistral'],
  [40, 'short'],
  [64, 'long'],
] as const;

function callIdLesson({ text, settings }: Refusal): Lesson | undefined {
  if (!/tool[_ ]?(?:call|use)[_ .]?id|tool_calls(?:\[|\.)\d+\]?\.id\b/i.test(text)) return undefined;
  // The digits of a pattern are no length.
  const numbers = readNumbers(text.replaceAll('0-9', ''));
  const [, callIds] = CALL_ID_LENGTHS.find(([length]) => numbers.includes(length)) ?? [0, 'word'];
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
  if (sent === undefined || !isNamed) return undefined;
  // Behind another field of the request it is only mentioned.
  const before = text.slice(0, Math.max(text.search(/reasoning[_ .]?effort/i), 0));
  if (REFUSABLE_FIELDS.some((field) => body[field] !== undefined && before.includes(field))) return undefined;
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

function refusedFieldLesson({ text, body }: Refusal): Lesson | undefined {
  const sent = REFUSABLE_FIELDS.filter((field) => {
    // `stop` ends the answer, and `parallel_tool_calls: false` forbids something.
    if (field === 'parallel_tool_calls') return body.parallel_tool_calls === true;
    return body[field] !== undefined && field !== 'stop';
  });
  const refused = refusedFields(text, sent);
  return refused && leftOutLesson(refused.fields, refused.isLasting);
}

function leftOutLesson(refusedFields: readonly RefusableField[], isLasting: boolean): Lesson {
  const change = `without ${refusedFields.map((field) => `'${field}'`).join(', ')}`;
  return { settings: { refusedFields }, isLasting, change };
}

/** Both settings; fields that are refused add up. */
export function withLesson(settings: ProviderSettings, lesson: Partial<RequestSettings>): RequestSettings {
  const refusedFields = [...new Set([...settings.refusedFields, ...(lesson.refusedFields ?? [])])];
  return { ...settings, ...lesson, refusedFields };
}
