/** Reads from a server's refusal which fields of the request it does not take. */

/** Maximum characters of a refusal that are read; some servers quote the request in it. */
const MAX_READ = 16 * 1024;
/** Maximum depth of an error within errors. */
const MAX_DEPTH = 8;
/** Fields of an error that quote the request. */
const QUOTES: ReadonlySet<string> = new Set(['input', 'ctx', 'url', 'failed_generation']);

/** All texts of the server's answer, wherever it has them. */
export function refusalText(said: unknown): string {
  const pieces: string[] = [];
  collectTexts(said, pieces, 0);
  return pieces.join('\n').slice(0, MAX_READ);
}

function collectTexts(value: unknown, pieces: string[], depth: number): void {
  // A number alone is a code, and no limit.
  if (typeof value === 'string' && !/^\d+$/.test(value)) pieces.push(value.slice(0, MAX_READ));
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH || pieces.length > 1000) return;
  for (const [name, each] of Object.entries(value)) if (!QUOTES.has(name)) collectTexts(each, pieces, depth + 1);
}

/** The words of a text, each in the form of `plainWord`. */
export function wordsIn(text: string): ReadonlySet<string> {
  return new Set(text.match(/[A-Za-z][A-Za-z0-9_]*/g)?.map(plainWord));
}

/** Servers write `prompt_cache_key` and `promptCacheKey`. */
export function plainWord(name: string): string {
  return name.replaceAll('_', '').toLowerCase();
}

/** Whether the text says that something is not taken. */
export function isRefused(text: string): boolean {
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

/** Fields whose values a client chooses, for which another client's value may be right. */
const VALUED: ReadonlySet<string> = new Set([
  'service_tier',
  'metadata',
  'prompt_cache_retention',
  'prompt_cache_options',
]);
/** Words of any text. */
const COMMON: ReadonlySet<string> = new Set(['user', 'metadata', 'stop']);
/** A field without which the answer is the same, or nearly so, may be left out for the sake of its value. */
const PLAIN: ReadonlySet<string> = new Set([
  ...VALUED,
  ...['verbosity', 'safety_identifier', 'prompt_cache_key', 'include.reasoning.encrypted_content'],
]);
const INVALID_VALUE = /invalid value|unsupported value/i;
const EXCLUSIVE = /\bboth\b|only one|mutually exclusive|cannot be used together/i;
const WITH_THOUGHTS = /\b(?:when|while|if|unless|with) thinking\b/i;

/** Fields that are left out. */
interface RefusedFields<Field extends string> {
  readonly fields: readonly Field[];
  /** Whether the server takes them in no request. */
  readonly isLasting: boolean;
}

/** Those of the fields that were sent, and may be left out, which the text refuses; undefined if it refuses none. */
export function refusedFields<Field extends string>(
  text: string,
  sent: readonly Field[],
): RefusedFields<Field> | undefined {
  const fields = mentionedFields(text, sent);
  // A later sentence may name other fields as an example.
  const sentence = fields.length > 1 ? text.split(/\. (?=[A-Z])/).find(isRefused) : undefined;
  const subjects = sentence === undefined ? [] : mentionedFields(sentence, fields);
  const named = subjects.length > 0 ? subjects : fields;
  const isPlain = INVALID_VALUE.test(text) && named.every((field) => PLAIN.has(field));
  if (named.length === 0 || (!isPlain && !isRefused(text))) return undefined;
  const isValue = /value/i.test(text) && !/param|field|propert|argument|input|key\b|name/i.test(text);
  const isConditional = EXCLUSIVE.test(text) || WITH_THOUGHTS.test(text);
  const isLasting = !isConditional && !named.some((field) => isValue && VALUED.has(field));
  // Of those that exclude each other the first stays.
  return { fields: named.length > 1 && EXCLUSIVE.test(text) ? named.slice(1) : named, isLasting };
}

/** A field within another one is named by its path, `reasoning.effort`; a value of `include` by its last name, or by the whole list. */
function mentionedFields<Field extends string>(text: string, sent: readonly Field[]): readonly Field[] {
  const words = wordsIn(text);
  const isOfMessages = words.has('messages') || words.has('role') || words.has('roles');
  return sent.filter((field) => {
    if (field.startsWith('include.')) {
      const name = field.slice(field.lastIndexOf('.') + 1);
      const isNamed = words.has(plainWord(name)) || text.toLowerCase().includes(name.replaceAll('_', ' '));
      return isNamed || isQuoted(text, 'include');
    }
    if (field.includes('.')) return text.includes(field);
    if (!words.has(plainWord(field)) && !(field.endsWith('_penalty') && words.has('penalty'))) return false;
    return !COMMON.has(field) || (!isOfMessages && isQuoted(text, field));
  });
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
