/** Reads a JSON body within a limit, by one set of rules for every host. */
import { constants } from 'node:buffer';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import type { Limits } from '../ports/limits.ts';
import { ApiError } from '../protocol/errors.ts';
import { refuseManyValues } from '../protocol/json/json-shape.ts';

/** The errors of a body, with the same messages for every host. */
export const bodyErrors = {
  otherType: () => new ApiError('unsupported_media_type', 'The request body must be application/json.'),
  tooLarge: () => new ApiError('request_too_large', 'The request body is larger than this server takes.'),
  malformed: (cause: unknown) =>
    new ApiError('invalid_json', 'We could not parse the JSON body of your request.', { cause }),
  aborted: (cause: unknown) => new ApiError('request_aborted', 'The request was aborted.', { cause }),
};

/**
 * A missing type counts as JSON, but not from a browser, which sends an origin. Others are refused: a browser sends
 * them, or no type, across origins without a preflight.
 */
export function isJsonType(type: string | null | undefined, origin: string | null | undefined): boolean {
  return type ? /^[\w.-]+\/([\w.-]+\+)?json\b/i.test(type) : !origin;
}

/** The limits of a body before it is parsed. */
export type BodyLimits = Pick<Limits, 'bodyBytes' | 'bodyValues'>;

/** The parsed body, which is JSON by its type; an empty one is `{}`. Throws `ApiError`. */
export async function readJson(
  bytes: AsyncIterable<Uint8Array>,
  headers: Headers,
  limits: BodyLimits,
): Promise<unknown> {
  const limit = limits.bodyBytes;
  const inflate = inflateFor(headers.get('content-encoding') ?? 'identity');
  refuseOtherCharsets(headers.get('content-type') ?? '');
  // Checked before reading, so that the host can discard the body.
  if (Number(headers.get('content-length')) > limit) throw bodyErrors.tooLarge();
  return parseBody(await inflated(inflate, await readBytes(bytes, limit), limit), limits);
}

type Inflate = (bytes: Uint8Array, options: { readonly maxOutputLength: number }) => Promise<Uint8Array>;

const INFLATES: ReadonlyMap<string, Inflate> = new Map<string, Inflate>([
  ['identity', async (bytes) => bytes],
  ['gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
]);

function inflateFor(encoding: string): Inflate {
  const found = INFLATES.get(encoding.toLowerCase());
  if (found) return found;
  throw new ApiError('unsupported_media_type', `unsupported content encoding "${encoding}"`);
}

/** A small compressed body may be too large: it is inflated only up to the limit. */
async function inflated(inflate: Inflate, bytes: Uint8Array, limit: number): Promise<Uint8Array> {
  try {
    return await inflate(bytes, { maxOutputLength: Math.min(limit, constants.MAX_LENGTH) });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw code === 'ERR_BUFFER_TOO_LARGE' ? bodyErrors.tooLarge() : bodyErrors.malformed(error);
  }
}

function refuseOtherCharsets(type: string): void {
  if (isUtf8Type(type)) return;
  throw new ApiError('unsupported_media_type', `unsupported charset "${charsetIn(type).toUpperCase()}"`);
}

function charsetIn(type: string): string {
  return /;\s*charset="?([^\s";]+)/i.exec(type)?.[1] ?? 'utf-8';
}

/** Whether a body of this type is in UTF-8. */
export function isUtf8Type(type: string): boolean {
  return /^utf-?8$/i.test(charsetIn(type));
}

/** Reads to the end even if it is too long: stopping would cut the connection before the client has read the answer. */
async function readBytes(bytes: AsyncIterable<Uint8Array>, limit: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const piece of bytes) {
      length += piece.byteLength;
      if (length <= limit) pieces.push(piece);
    }
  } catch (cause) {
    throw bodyErrors.aborted(cause);
  }
  if (length > limit) throw bodyErrors.tooLarge();
  return Buffer.concat(pieces);
}

/** Whether the host has read the body and not parsed it, as `express.text`, `express.raw` and adapters of AWS Lambda do. */
export function isUnparsed(body: unknown): body is string | Uint8Array {
  return typeof body === 'string' || body instanceof Uint8Array;
}

/** The body that the host has read, which is JSON by its type. Throws `ApiError`. */
export function parseRead(body: string | Uint8Array, limits: BodyLimits): unknown {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  if (bytes.byteLength > limits.bodyBytes) throw bodyErrors.tooLarge();
  return parseBody(bytes, limits);
}

const utf8 = new TextDecoder();

/** The body of these bytes; an empty one is `{}`. Throws `invalid_json`, and `request_too_large` for too many values. */
export function parseBody(bytes: Uint8Array, limits: BodyLimits): unknown {
  if (bytes.byteLength === 0) return {};
  refuseManyValues(bytes, limits);
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch (cause) {
    throw bodyErrors.malformed(cause);
  }
}
