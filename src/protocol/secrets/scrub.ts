/** Keeps an upstream's secrets and address out of the errors and notes that clients and the host's log receive. */
import { ApiError } from '../errors.ts';
import type { Note } from '../note.ts';
import { isError } from '../record.ts';
import { masker, SECRET_NAME, secretsOfHeader, secretsOfURL } from './mask.ts';

/** Punctuation inside a key is part of it, trailing punctuation is not. */
const KEYS = /\b(?:(?:sk|pk|xai)-|gsk_|hf_|AIza)(?=[\w*.-]{4})(?:[.-]*[\w*])+|\bBearer\s+\S+/g;

/** The text without what looks like a key of a model provider or a bearer token. */
export function withoutKeys(text: string): string {
  return text.replace(KEYS, '***');
}

/** A shorter configured key is a placeholder, such as `EMPTY`, and may be any word of a message. */
const MIN_KEY_LENGTH = 8;
/** The minimum length of a secret in a query or in a header whose name marks it as secret. */
const MIN_SECRET_LENGTH = 4;
/** Maximum characters of a server's message that are scrubbedError. */
const MAX_SHOWN_LENGTH = 4096;
/** Maximum characters that are searched: a server may answer megabytes. */
const MAX_READ_LENGTH = 65_536;
/** How many times longer a secret may be when it is encoded for a URL. */
const MAX_ENCODING_FACTOR = 3;
/** Maximum depth of errors within errors. */
const MAX_CAUSE_DEPTH = 8;
/** Headers that this package itself sends, which are not secret. */
const OWN_HEADERS: ReadonlySet<string> = new Set(['content-type', 'accept', 'accept-encoding', 'anthropic-version']);

/** The credentials and the address for every request to one server. */
interface ScrubSettings {
  readonly baseURL: URL;
  readonly apiKey: string | undefined;
  /** Names of client headers that are passed on. */
  readonly forwardHeaders: readonly string[];
}

/** Returns an `ApiError` without secrets and without the server's address; other errors pass unchanged. */
export type Scrub = (error: unknown) => unknown;

/** Header names in lower case. */
type Sent = Readonly<Record<string, string>>;

/** The scrubs of one server. */
export interface Scrubber {
  /** For a request with these headers, which may belong to another tenant than those of the next. */
  of(sent: Sent): Scrub;
  /** The same as text. */
  textOf(sent: Sent): (text: string) => string;
}

/** Builds nothing until there is an error to show. */
export function scrubber(settings: ScrubSettings): Scrubber {
  return {
    of: (sent) => (error) =>
      error instanceof ApiError ? scrubbedError(error, newCleaner(settings, sent), settings) : error,
    textOf(sent) {
      let clean: Cleaner | undefined;
      return (text) => {
        clean ??= newCleaner(settings, sent);
        return clean.forClient(text);
      };
    },
  };
}

/** The same for an error without a server or configured secrets: it is only cut to the length that is scrubbedError. */
export function truncatedError(error: unknown): unknown {
  if (!(error instanceof ApiError) || error.message.length <= MAX_SHOWN_LENGTH) return error;
  const { message, code, status, type, param, headers, cause, advice } = error;
  return new ApiError(code, message.slice(0, MAX_SHOWN_LENGTH), { status, type, param, headers, cause, advice });
}

/** Reports notes without secrets: they may repeat the server's text. */
export function cleanNote(notify: (note: Note) => void, clean: (text: string) => string): (note: Note) => void {
  return (note) => notify({ ...note, message: clean(note.message) });
}

function scrubbedError(error: ApiError, { forClient, forHost }: Cleaner, { baseURL }: ScrubSettings): ApiError {
  const { message, code, status, type, param, headers, cause, advice } = error;
  const cleanHeaders = Object.entries(headers).map(([name, value]) => [name, forClient(value)]);
  return new ApiError(forClient(code), forClient(message), {
    status,
    type: forClient(type),
    param: param && forClient(param),
    headers: Object.fromEntries(cleanHeaders),
    server: baseURL.host,
    advice,
    ...(cause === undefined ? {} : { cause: cleanCause(cause, forHost, MAX_CAUSE_DEPTH) }),
  });
}

/** Text without secrets. */
interface Cleaner {
  /**
   * Without the server's address, and cut to the length that is scrubbedError. It is cut last: half a secret would not be
   * found.
   */
  forClient(text: string): string;
  forHost(text: string): string;
}

function newCleaner(settings: ScrubSettings, sent: Sent): Cleaner {
  const { baseURL, apiKey = '', forwardHeaders } = settings;
  // The values of headers whose names mark them as secret, and of the host's other headers: an organisation, a user.
  const forwarded = new Set(forwardHeaders.map((name) => name.toLowerCase()));
  const certain: string[] = [];
  const likely: string[] = [];
  for (const [name, value] of Object.entries(sent)) {
    if (apiKey !== '' && value.endsWith(apiKey)) likely.push(value);
    else if (SECRET_NAME.test(name)) certain.push(...secretsOfHeader(value));
    else if (!forwarded.has(name) && !OWN_HEADERS.has(name)) likely.push(...secretsOfHeader(value));
  }
  const query = secretsOfURL(baseURL.href);
  const places = [baseURL.href, baseURL.origin, baseURL.host];
  const short = masker([...certain, ...query], MIN_SECRET_LENGTH);
  const long = masker([apiKey, ...likely], MIN_KEY_LENGTH);
  const secrets = [apiKey, ...certain, ...likely, ...query];
  const longest = secrets.reduce((most, { length }) => Math.max(most, length), 0);
  const forHost = (text: string) => withoutKeys(long(short(text)));
  return {
    forHost,
    forClient(text) {
      const read = text.slice(0, MAX_READ_LENGTH);
      // The whole address first: its query is masked by itself, too.
      const masked = forHost(places.reduce((rest, place) => rest.replaceAll(place, '***'), read));
      const cut = read.length < text.length ? MAX_ENCODING_FACTOR * longest : 0;
      return masked.slice(0, Math.max(masked.length - cut, 0)).slice(0, MAX_SHOWN_LENGTH);
    },
  };
}

/** The same error if it holds no secret: hosts check its class and its code. */
function cleanCause(cause: unknown, clean: (text: string) => string, depth: number): unknown {
  if (typeof cause === 'string') return clean(cause);
  if (Array.isArray(cause)) {
    const cleaned = cause.map((each) => cleanCause(each, clean, depth));
    return cleaned.some((each, index) => each !== cause[index]) ? cleaned : cause;
  }
  if (!isError(cause)) return cause;
  if (depth === 0) return undefined;
  const fields: PropertyDescriptorMap = {};
  let isChanged = false;
  for (const name of Object.getOwnPropertyNames(cause)) {
    const held: unknown = Reflect.get(cause, name);
    const value = cleanCause(held, clean, depth - 1);
    isChanged ||= value !== held;
    const enumerable = Object.prototype.propertyIsEnumerable.call(cause, name);
    fields[name] = { value, enumerable, writable: true, configurable: true };
  }
  // The cast: a copy has the class and the fields of its original.
  return isChanged ? (Object.create(Object.getPrototypeOf(cause), fields) as Error) : cause;
}
