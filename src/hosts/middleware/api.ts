/** Detects which of the APIs a request uses. */
import { isRecord } from '../../protocol/record.ts';

/** The APIs; that of Anthropic is only known by its path. */
export type ApiName = 'responses' | 'chat-completions' | 'messages';

const BY_PATH: readonly (readonly [RegExp, ApiName])[] = [
  [/\/responses$/, 'responses'],
  [/\/chat\/completions$/, 'chat-completions'],
  [/\/messages(\/count_tokens)?$/, 'messages'],
];
/** Their bodies have an `input` or `messages` too. */
const OTHER_APIS = /\/(embeddings|moderations|audio\/\w+)$/;
/** So have those of other servers, under paths that a host may also have chosen itself. */
const FOREIGN_APIS: readonly RegExp[] = [
  // OpenAI's Assistants.
  /\/threads(\/[^/]+(\/(messages|runs)(\/.*)?)?)?$/,
  // vLLM and llama.cpp.
  /\/(tokenize|apply-template|classify|pooling|score|rerank)$/,
  // Ollama.
  /\/api\/(chat|embed)$/,
];

/**
 * The host's word for the API, or what the path says if it is OpenAI's, otherwise the body; undefined for a request of none of
 * them, whatever the host says.
 */
export function detectApi(url: string | undefined, body: unknown, named?: ApiName): ApiName | undefined {
  // Bytes that the host has read and not parsed are left unchanged.
  if (!isRecord(body) || ArrayBuffer.isView(body)) return undefined;
  const path = lenientPath(url);
  if (OTHER_APIS.test(path)) return undefined;
  const detected = textApi(url, body);
  if (named) return detected && named;
  // Under any other path, a list of texts or tokens is the input of something else.
  const isOtherInput = Array.isArray(body.input) && !body.input.every(isRecord);
  const isOther = isOtherInput && !BY_PATH.some(([pattern]) => pattern.test(path));
  return isOther || FOREIGN_APIS.some((pattern) => pattern.test(path)) ? undefined : detected;
}

/**
 * The same, whatever else the path may be called: the client chooses the path, and what it is called for the handler may be
 * another thing than what it is called here.
 */
export function textApi(url: string | undefined, body: unknown): ApiName | undefined {
  const path = lenientPath(url);
  const found = BY_PATH.find(([pattern]) => pattern.test(path));
  if (found) return found[1];
  if (!isRecord(body)) return undefined;
  if (Array.isArray(body.messages)) return 'chat-completions';
  return 'input' in body || 'previous_response_id' in body ? 'responses' : undefined;
}

/** Whether the path is that of Anthropic's API. */
export function isMessagesPath(url: string | undefined): boolean {
  return /\/messages(\/count_tokens)?$/.test(lenientPath(url));
}

/**
 * The path of a request's target as the most generous of handlers reads it: without query and fragment, scheme and host,
 * parameters of its segments, and an end `/`; decoded, in lower case.
 */
export function lenientPath(url = ''): string {
  const [target = ''] = url.split(/[?#]/, 1);
  let path = target.replace(/^[a-z][a-z\d+.-]*:\/\/[^/]*/i, '');
  try {
    path = decodeURIComponent(path);
  } catch {
    // A path that cannot be decoded is read as it is.
  }
  const segments = path
    .toLowerCase()
    .split(/[/\\]/)
    .map((segment) => segment.split(';', 1)[0]);
  return segments.filter((segment, at) => at === 0 || segment !== '').join('/');
}
