/** Keeps everything secret that an upstream sends, and its address, out of what clients and the host's log are told. */
import { ApiError } from '../errors.ts';
import type { Note } from '../note.ts';
import { isError } from '../record.ts';
import { masker, SECRET_NAME, secretsOfHeader, secretsOfURL } from './mask.ts';

/** Punctuation inside a key is part of it, that behind it is not. */
const KEYS = /\b(?:(?:sk|pk|xai)-|gsk_|hf_|AIza)(?=[\w*.-]{4})(?:[.-]*[\w*])+|\bBearer\s+\S+/g;
/** A configured key that is shorter is a placeholder, such as `EMPTY`, and may be any word of a message. */
const SHORTEST_KEY = 8;
/** What a header with a telling name, or a query, holds is a secret however short, down to here. */
const SHORTEST_SECRET = 4;
/** What is shown of a server's message. */
const SHOWN_CHARACTERS = 4096;
/** What is looked at: a server may answer megabytes. */
const READ_CHARACTERS = 65_536;
/** How many times longer a secret may be where it is spelled for a URL. */
const LONGEST_SPELLING = 3;
/** Of errors within errors. */
const DEEPEST_CAUSE = 8;
/** What this package itself sends, which is no secret. */
const OWN_HEADERS: ReadonlySet<string> = new Set(['content-type', 'accept', 'anthropic-version']);

/** What goes with every request to one server. */
interface ScrubSettings {
  readonly baseURL: URL;
  readonly apiKey: string | undefined;
  /** Names of client headers that are passed on. */
  readonly forwardHeaders: readonly string[];
}

/** Answers an `ApiError` as one that names neither secret nor server; other errors pass. */
export type Scrub = (error: unknown) => unknown;

/** Header names in lower case. */
type Sent = Readonly<Record<string, string>>;

/** The scrubs of one server. */
interface Scrubber {
  /** For a request with these headers, which may be another tenant's than those of the next. */
  of(sent: Sent): Scrub;
  /** The same as text. */
  textOf(sent: Sent): (text: string) => string;
}

/** Builds nothing before there is an error to be shown. */
export function scrubber(settings: ScrubSettings): Scrubber {
  return {
    of: (sent) => (error) => (error instanceof ApiError ? shown(error, cleaner(settings, sent), settings) : error),
    textOf(sent) {
      let clean: Cleaner | undefined;
      return (text) => {
        clean ??= cleaner(settings, sent);
        return clean.forClient(text);
      };
    },
  };
}

/** The same for an error that names no server and goes with no secrets of ours: it is made no longer than is shown. */
export function shortened(error: unknown): unknown {
  if (!(error instanceof ApiError) || error.message.length <= SHOWN_CHARACTERS) return error;
  const { message, code, status, type, param, headers, cause } = error;
  return new ApiError(code, message.slice(0, SHOWN_CHARACTERS), { status, type, param, headers, cause });
}

/** Tells notes without secrets: they may repeat what the server wrote. */
export function cleanNote(notify: (note: Note) => void, clean: (text: string) => string): (note: Note) => void {
  return (note) => notify({ ...note, message: clean(note.message) });
}

function shown(error: ApiError, { forClient, forHost }: Cleaner, { baseURL }: ScrubSettings): ApiError {
  const { message, code, status, type, param, headers, cause } = error;
  const cleanHeaders = Object.entries(headers).map(([name, value]) => [name, forClient(value)]);
  return new ApiError(forClient(code), forClient(message), {
    status,
    type: forClient(type),
    param: param && forClient(param),
    headers: Object.fromEntries(cleanHeaders),
    server: baseURL.host,
    ...(cause === undefined ? {} : { cause: cleanCause(cause, forHost, DEEPEST_CAUSE) }),
  });
}

/** Text without secrets. */
interface Cleaner {
  /** Without the server's address, and no longer than is shown. It is cut last: half a secret is none that could be found. */
  forClient(text: string): string;
  forHost(text: string): string;
}

function cleaner(settings: ScrubSettings, sent: Sent): Cleaner {
  const { baseURL, apiKey = '' } = settings;
  const { certain, likely } = secretsIn(settings, sent);
  const query = secretsOfURL(baseURL.href);
  const places = [baseURL.href, baseURL.origin, baseURL.host];
  const short = masker([...certain, ...query], SHORTEST_SECRET);
  const long = masker([apiKey, ...likely], SHORTEST_KEY);
  const secrets = [apiKey, ...certain, ...likely, ...query];
  const longest = secrets.reduce((most, { length }) => Math.max(most, length), 0);
  const forHost = (text: string) => long(short(text)).replace(KEYS, '***');
  return {
    forHost,
    forClient(text) {
      const read = text.slice(0, READ_CHARACTERS);
      // The whole address first: its query is masked by itself, too.
      const masked = forHost(places.reduce((rest, place) => rest.replaceAll(place, '***'), read));
      const whole = read.length < text.length ? masked.slice(0, -LONGEST_SPELLING * longest) : masked;
      return whole.slice(0, SHOWN_CHARACTERS);
    },
  };
}

/** What headers with telling names hold, and what else the host adds: an organisation, a user. */
function secretsIn({ apiKey, forwardHeaders }: ScrubSettings, sent: Sent) {
  const forwarded = new Set(forwardHeaders.map((name) => name.toLowerCase()));
  const certain: string[] = [];
  const likely: string[] = [];
  for (const [name, value] of Object.entries(sent)) {
    const isKey = apiKey !== undefined && apiKey !== '' && value.endsWith(apiKey);
    if (isKey) likely.push(value);
    else if (SECRET_NAME.test(name)) certain.push(...secretsOfHeader(value));
    else if (!forwarded.has(name) && !OWN_HEADERS.has(name)) likely.push(...secretsOfHeader(value));
  }
  return { certain, likely };
}

/** The very error where it holds no secret: hosts look at its class and its code. */
function cleanCause(cause: unknown, clean: (text: string) => string, depth: number): unknown {
  if (typeof cause === 'string') return clean(cause);
  if (Array.isArray(cause)) return cleanList(cause, clean, depth);
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
  // The cast: a copy has the class and the fields of the error that it is one of.
  return isChanged ? (Object.create(Object.getPrototypeOf(cause), fields) as Error) : cause;
}

function cleanList(list: readonly unknown[], clean: (text: string) => string, depth: number): readonly unknown[] {
  const cleaned = list.map((each) => cleanCause(each, clean, depth));
  return cleaned.some((each, index) => each !== list[index]) ? cleaned : list;
}
