/** Detects which of the two APIs a request uses. */
import { isRecord } from '../protocol/record.ts';

/** The two APIs. */
export type Dialect = 'responses' | 'chat-completions';

const BY_PATH: readonly (readonly [RegExp, Dialect | undefined])[] = [
  [/\/responses\/?$/, 'responses'],
  [/\/chat\/completions\/?$/, 'chat-completions'],
  // Their bodies have an `input` or `messages` too.
  [/\/(embeddings|moderations|audio\/\w+|messages|messages\/count_tokens)\/?$/, undefined],
];

/** Decided by the path if it is OpenAI's, otherwise by the body; undefined for neither. */
export function dialectOf(url: string | undefined, body: unknown): Dialect | undefined {
  // Bytes that the host has read and not parsed are left unchanged.
  if (!isRecord(body) || ArrayBuffer.isView(body)) return undefined;
  const path = (url ?? '').split('?', 1)[0] ?? '';
  const known = BY_PATH.find(([pattern]) => pattern.test(path));
  return known ? known[1] : dialectOfBody(body);
}

function dialectOfBody(body: Readonly<Record<string, unknown>>): Dialect | undefined {
  if (Array.isArray(body.messages)) return 'chat-completions';
  return 'input' in body || 'previous_response_id' in body ? 'responses' : undefined;
}
