/** The keys of a bucket's objects, which contain what a listing needs, so that it reads no object. */

import type { StoredFile } from '../../ports/files/file-store.ts';
import type { ResponseKey } from '../../ports/store.ts';
import { digestText } from '../store-parts.ts';

/** The longest segment of a key: some servers store each segment as the name of a file. */
const MAX_SEGMENT = 250;

/** One upload of one file. */
export interface Place {
  /** A digest of the scope. */
  readonly tenant: string;
  /** The encoded id. */
  readonly id: string;
  /** Different for each upload. */
  readonly upload: string;
}

/** Why a sweep visits a file later: its upload may be left over, it expires, or it is being deleted. */
export type Reason = 'upload' | 'expiry' | 'delete';

/** What a key records about a file, and where the file is. */
export interface Entry {
  readonly key: string;
  readonly place: Place;
  /** Without its true name if `isShort`. */
  readonly file: StoredFile;
  /** Whether its description must be read to know its name and type: they did not fit into the key. */
  readonly isShort: boolean;
}

/** Reads and writes the keys that begin with this prefix. */
export class Keys {
  private readonly prefix: string;

  constructor(prefix: string) {
    this.prefix = prefix;
  }

  /** The prefix of the keys of a tenant's descriptions. */
  tenant(scope: string): string {
    return `${this.prefix}files/${digestText(scope)}/`;
  }

  /** The prefix of the key of the file's description; undefined for an id that is too long for a key. */
  folder({ scope, id }: ResponseKey): string | undefined {
    const encoded = encodeSegment(id);
    return encoded.length > MAX_SEGMENT ? undefined : `${this.tenant(scope)}${encoded}/`;
  }

  /** The same from the place of an upload. */
  folderOf({ tenant, id }: Place): string {
    return `${this.prefix}files/${tenant}/${id}/`;
  }

  description(place: Place, { createdAt, bytes, purpose, expiresAt, filename, contentType }: StoredFile): string {
    const short = [place.upload, createdAt, bytes, purpose, expiresAt ?? null];
    const whole = encodeSegment([...short, filename, ...(contentType === undefined ? [] : [contentType])]);
    return this.folderOf(place) + (whole.length > MAX_SEGMENT ? encodeSegment(short) : whole);
  }

  content({ tenant, upload }: Place): string {
    return `${this.prefix}content/${tenant}/${upload}`;
  }

  claim({ tenant, upload }: Place): string {
    return `${this.prefix}deleted/${tenant}/${upload}`;
  }

  /** The prefix of the keys of all marks. */
  get marks(): string {
    return `${this.prefix}due/`;
  }

  /** The key of a mark, an empty object; marks sort by time. */
  mark(dueAt: number, reason: Reason, { tenant, id, upload }: Place): string {
    return `${this.marks}${String(Math.ceil(dueAt)).padStart(16, '0')}/${reason}/${tenant}/${id}/${upload}`;
  }

  /** Reads the key of a mark. */
  readMark(key: string): { readonly dueAt: number; readonly reason: string; readonly place: Place } {
    const [dueAt, reason = '', tenant = '', id = '', upload = ''] = key.slice(this.marks.length).split('/');
    return { dueAt: Number(dueAt), reason, place: { tenant, id, upload } };
  }

  /** Reads the key of a description of the tenant's. */
  entry(scope: string, key: string): Entry {
    const [tenant = '', id = '', text = ''] = key.split('/').slice(-3);
    // The cast: only `description` makes these keys.
    const parts = decodeSegment(text) as [string, number, number, string, number | null, string?, string?];
    const [upload, createdAt, bytes, purpose, expiresAt, filename, contentType] = parts;
    const file = {
      ...{ scope, id: decodeSegment(id) as string, createdAt, bytes, purpose, filename: filename ?? '' },
      ...(contentType === undefined ? {} : { contentType }),
      ...(expiresAt === null ? {} : { expiresAt }),
    };
    return { key, place: { tenant, id, upload }, file, isShort: filename === undefined };
  }
}

/** The place of a new upload. Throws a `RangeError` for an id that is too long for a key. */
export function newPlace({ scope, id }: ResponseKey, upload: string): Place {
  const encoded = encodeSegment(id);
  if (encoded.length > MAX_SEGMENT) throw new RangeError('s3Files: the id of the file is too long for a key of S3.');
  return { tenant: digestText(scope), id: encoded, upload };
}

/** Encodes the JSON, which can escape every string, even lone surrogates that UTF-8 cannot encode. */
function encodeSegment(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function decodeSegment(text: string): unknown {
  return JSON.parse(Buffer.from(text, 'base64url').toString());
}
