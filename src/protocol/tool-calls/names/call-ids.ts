/** Writes the ids of calls in the form that another server accepts, each of them once in a conversation. */
import { hash } from 'node:crypto';

/**
 * The ids that a server accepts: `short` up to 40 characters, `long` up to 64, `word` letters, digits, `_` and `-`,
 * `mistral` exactly nine letters and digits.
 */
export type CallIdForm = 'any' | 'short' | 'long' | 'word' | 'mistral';

/** The forms, for checks of options. */
export const CALL_ID_FORMS = ['any', 'short', 'long', 'word', 'mistral'] as const satisfies readonly CallIdForm[];

/** Returns the id that is sent for the next call, given the client's id of it. */
export type CallIds = (id: string) => string;

/**
 * The ids of one conversation, asked for in its order. The same conversation receives the same ids, so a server's cache
 * of it stays valid; an id that recurs receives a number.
 */
export function callIds(form: CallIdForm): CallIds {
  const inForm = IN_FORM[form];
  // Stores the count, because searching a conversation that repeats one id would take quadratic time.
  const taken = new Map<string, number>();
  return (id) => {
    const plain = inForm(id);
    let copy = taken.get(plain) ?? 1;
    let sent = plain;
    for (; taken.has(sent); sent = inForm(`${plain}_${copy}`)) copy += 1;
    taken.set(plain, copy);
    if (sent !== plain) taken.set(sent, 1);
    return sent;
  };
}

const IN_FORM: Readonly<Record<CallIdForm, (id: string) => string>> = {
  any: (id) => id,
  short: (id) => (id.length <= 40 ? id : `call_${hash('sha256', id).slice(0, 35)}`),
  long: (id) => (id.length <= 64 ? id : `call_${hash('sha256', id).slice(0, 59)}`),
  word: (id) => id.replace(/[^\w-]/g, '_') || 'call',
  mistral: (id) =>
    /^[a-zA-Z0-9]{9}$/.test(id)
      ? id
      : hash('sha256', id, 'base64')
          .replace(/[^a-zA-Z0-9]/g, '')
          .slice(0, 9),
};

const WORD = /^[\w-]+$/;
/** The beginning of an id that stands for another one. */
const ENCODED = 'toolu_b64_';

/** The id as clients of Anthropic's API may send it to Anthropic: letters, digits, `_` and `-`. */
export function encodeCallId(id: string): string {
  return WORD.test(id) && !id.startsWith(ENCODED) ? id : `${ENCODED}${Buffer.from(id).toString('base64url')}`;
}

/** The id that such a word stands for; some models expect their own ids back. */
export function decodeCallId(word: unknown): unknown {
  if (typeof word !== 'string' || !word.startsWith(ENCODED)) return word;
  return Buffer.from(word.slice(ENCODED.length), 'base64url').toString();
}
