/** Reads a JSON body within a limit, by one set of rules for every host. */
import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Limits } from '../../ports/limits.ts';
import type { ByteShare } from '../../ports/queues/shared-bytes.ts';
import { rememberRequestInputs } from '../../protocol/anthropic/tool-inputs.ts';
import { ApiError } from '../../protocol/errors.ts';
import { refuseManyValues } from '../../protocol/json/json-shape.ts';
import { mapMaybePromise } from '../../protocol/record.ts';
import { bodyByteShare, tooManyBodies } from './body-room.ts';

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
export type BodyLimits = Pick<Limits, 'bodyBytes' | 'bodyValues'> & Partial<Pick<Limits, 'bodiesBytes'>>;

/** The parsed body, which is JSON by its type; an empty one is `{}`. `tenant` is whose share it takes, asked for where there is little room. Throws `ApiError`. */
export async function readJson(
  bytes: AsyncIterable<Uint8Array>,
  headers: Pick<Headers, 'get'>,
  limits: BodyLimits,
  tenant: () => string,
): Promise<unknown> {
  const body = new ArrivingBody(headers, limits, tenant);
  try {
    await addAll(bytes, body);
    return (await body.whole()).value;
  } finally {
    body.close();
  }
}

/** Reads to the end even if it is refused: stopping would cut the connection before the client has read the answer. */
async function addAll(bytes: AsyncIterable<Uint8Array>, body: ArrivingBody): Promise<void> {
  let refusal: unknown;
  try {
    for await (const piece of bytes) {
      if (refusal !== undefined) continue;
      try {
        body.add(piece);
      } catch (error) {
        refusal = error;
        body.close();
      }
    }
  } catch (cause) {
    refusal ??= bodyErrors.aborted(cause);
  }
  if (refusal !== undefined) throw refusal;
}

type MakeInflate = () => Transform;

const INFLATES: ReadonlyMap<string, MakeInflate | undefined> = new Map<string, MakeInflate | undefined>([
  ['identity', undefined],
  ['gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/** Short pieces are copied into blocks of this length: each would be an object, and keep alive what it was cut from. */
const BLOCK_BYTES = 64 * 1024;

/** A body that has been read. */
export interface WholeJson {
  readonly bytes: Uint8Array;
  /** What they say; `{}` for none. */
  readonly value: unknown;
}

/** A body while it arrives, which takes its share of the room for bodies from its announcement on. */
export class ArrivingBody {
  private readonly limits: BodyLimits;
  /** What all bodies may take together. */
  readonly most: number;
  private readonly room: ByteShare;
  private readonly makeInflate: MakeInflate | undefined;
  private pieces: Uint8Array[] = [];
  private block: Buffer | undefined = undefined;
  private used = 0;
  private length = 0;

  /** Throws `ApiError` for a body that may not arrive, before anything of it is read. */
  constructor(headers: Pick<Headers, 'get'>, limits: BodyLimits, tenant: () => string) {
    const encoding = headers.get('content-encoding') ?? 'identity';
    if (!INFLATES.has(encoding.toLowerCase()))
      throw new ApiError('unsupported_media_type', `unsupported content encoding "${encoding}"`);
    this.makeInflate = INFLATES.get(encoding.toLowerCase());
    const type = headers.get('content-type') ?? '';
    if (!isUtf8Type(type))
      throw new ApiError('unsupported_media_type', `unsupported charset "${charsetIn(type).toUpperCase()}"`);
    this.limits = limits;
    this.most = limits.bodiesBytes ?? Number.POSITIVE_INFINITY;
    this.room = bodyByteShare(tenant);
    this.grow(Number(headers.get('content-length') ?? 0) || 0);
  }

  /** The bytes that it takes, inflated ones included. */
  get size(): number {
    return this.room.size;
  }

  /** In how many objects it is kept. */
  get pieceCount(): number {
    return this.pieces.length;
  }

  /** Takes the next piece. Throws `request_too_large` and `too_many_bodies`. */
  add(piece: Uint8Array): void {
    this.length += piece.byteLength;
    this.grow(this.length);
    // Most bodies are one piece, which needs no copy.
    if (this.pieces.length === 0 || piece.byteLength >= BLOCK_BYTES) return this.addWhole(piece);
    for (let at = 0; at < piece.byteLength; ) {
      this.block ??= Buffer.allocUnsafeSlow(BLOCK_BYTES);
      const part = piece.subarray(at, at + BLOCK_BYTES - this.used);
      this.block.set(part, this.used);
      this.used += part.byteLength;
      at += part.byteLength;
      if (this.used === BLOCK_BYTES) this.endBlock();
    }
  }

  /** The inflated bytes, once everything has arrived, and their JSON; a promise only of a compressed body. Throws `ApiError`. */
  whole(): WholeJson | Promise<WholeJson> {
    return mapMaybePromise(this.arrived(), (bytes) => ({ bytes, value: parseBody(bytes, this.limits) }));
  }

  /** The same bytes alone. Throws `ApiError`. */
  arrived(): Uint8Array | Promise<Uint8Array> {
    this.endBlock();
    const arrived = this.pieces.length === 1 ? (this.pieces[0] as Uint8Array) : Buffer.concat(this.pieces);
    this.pieces = [];
    return this.makeInflate ? this.inflated(arrived, this.makeInflate()) : arrived;
  }

  /** Gives its room back. May be called twice. */
  close(): void {
    this.pieces = [];
    this.block = undefined;
    this.room.end();
  }

  private addWhole(piece: Uint8Array): void {
    this.endBlock();
    this.pieces.push(piece);
  }

  private endBlock(): void {
    if (this.block) this.pieces.push(this.block.subarray(0, this.used));
    this.block = undefined;
    this.used = 0;
  }

  private grow(bytes: number): void {
    if (bytes > Math.min(this.limits.bodyBytes, this.most)) throw bodyErrors.tooLarge();
    if (!this.room.growTo(bytes, this.most)) throw tooManyBodies();
  }

  /** A small compressed body may be too large: it is inflated only up to the limits. */
  private async inflated(bytes: Uint8Array, inflate: Transform): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    let length = 0;
    inflate.end(bytes);
    try {
      for await (const piece of inflate as AsyncIterable<Uint8Array>) {
        length += piece.byteLength;
        this.grow(length);
        pieces.push(piece);
      }
    } catch (error) {
      throw error instanceof ApiError ? error : bodyErrors.malformed(error);
    }
    return Buffer.concat(pieces);
  }
}

function charsetIn(type: string): string {
  return /;\s*charset="?([^\s";]+)/i.exec(type)?.[1] ?? 'utf-8';
}

/** Whether a body of this type is in UTF-8. */
export function isUtf8Type(type: string): boolean {
  return /^utf-?8$/i.test(charsetIn(type));
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
    const text = utf8.decode(bytes);
    const body: unknown = JSON.parse(text);
    rememberRequestInputs(body, text);
    return body;
  } catch (cause) {
    throw bodyErrors.malformed(cause);
  }
}
