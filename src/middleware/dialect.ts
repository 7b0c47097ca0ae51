/** Detects which of the APIs a request uses. */
import { isRecord } from '../protocol/record.ts';

/** The APIs; that of Anthropic is only known by its path. */
export type Dialect = 'responses' | 'chat-completions' | 'messages';

const BY_PATH: readonly (readonly [RegExp, Dialect | undefined])[] = [
  [/\/responses\/?$/, 'responses'],
  [/\/chat\/completions\/?$/, 'chat-completions'],
  [/\/messages(\/count_tokens)?\/?$/, 'messages'],
  // Their bodies have an `input` or `messages` too.
  [/\/(embeddings|moderations|audio\/\w+)\/?$/, undefined],
];

/** Decided by the path if it is OpenAI's, otherwise by the body; undefined for none of them. */
export function dialectOf(url: string | undefined, body: unknown): Dialect | undefined {
  // Bytes that the host has read and not parsed are left unchanged.
  if (!isRecord(body) || ArrayBuffer.isView(body)) return undefined;
  const path = pathOf(url);
  const known = BY_PATH.find(([pattern]) => pattern.test(path));
  return known ? known[1] : dialectOfBody(body);
}

/** Whether the path is that of Anthropic's API. */
export function speaksMessages(url: string | undefined): boolean {
  return /\/messages(\/count_tokens)?\/?$/.test(pathOf(url));
}

function pathOf(url = ''): string {
  return url.split('?', 1)[0] ?? '';
}

function dialectOfBody(body: Readonly<Record<string, unknown>>): Dialect | undefined {
  if (Array.isArray(body.messages)) return 'chat-completions';
  return 'input' in body || 'previous_response_id' in body ? 'responses' : undefined;
}
