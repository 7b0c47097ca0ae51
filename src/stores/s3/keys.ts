/** The keys of a bucket's objects, which tell what a listing needs, so that it reads no object. */
import { hash } from 'node:crypto';
import type { StoredFile } from '../../ports/files/file-store.ts';
import type { ResponseKey } from '../../ports/store.ts';

/** Of one segment of a key: some servers keep each as the name of a file. */
const MAX_SEGMENT = 250;

/** One upload of one file. */
export interface Place {
  /** A digest. */
  readonly tenant: string;
  /** The encoded id. */
  readonly id: string;
  /** Of this upload alone. */
  readonly upload: string;
}

/** What is to be looked at later: an upload that may be left over, a file that expires, one that is being deleted. */
export type Reason = 'upload' | 'expiry' | 'delete';

/** What a key says of a file, and where the file is. */
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

  /** What the keys of all of a tenant's descriptions begin with. */
  tenant(scope: string): string {
    return `${this.prefix}files/${tenantOf(scope)}/`;
  }

  /** What the key of the file's description begins with; undefined for an id that is too long for any. */
  folder({ scope, id }: ResponseKey): string | undefined {
    const encoded = encode(id);
    return encoded.length > MAX_SEGMENT ? undefined : `${this.tenant(scope)}${encoded}/`;
  }

  /** The same for an upload of it. */
  folderOf({ tenant, id }: Place): string {
    return `${this.prefix}files/${tenant}/${id}/`;
  }

  description(place: Place, { createdAt, bytes, purpose, expiresAt, filename, contentType }: StoredFile): string {
    const short = [place.upload, createdAt, bytes, purpose, expiresAt ?? null];
    const whole = encode([...short, filename, ...(contentType === undefined ? [] : [contentType])]);
    return this.folderOf(place) + (whole.length > MAX_SEGMENT ? encode(short) : whole);
  }

  content({ tenant, upload }: Place): string {
    return `${this.prefix}content/${tenant}/${upload}`;
  }

  claim({ tenant, upload }: Place): string {
    return `${this.prefix}deleted/${tenant}/${upload}`;
  }

  /** What all marks begin with. */
  get marks(): string {
    return `${this.prefix}due/`;
  }

  /** Of an empty object, in the order of the times. */
  mark(dueAt: number, reason: Reason, { tenant, id, upload }: Place): string {
    return `${this.marks}${String(Math.ceil(dueAt)).padStart(16, '0')}/${reason}/${tenant}/${id}/${upload}`;
  }

  /** What a mark says. */
  readMark(key: string): { readonly dueAt: number; readonly reason: string; readonly place: Place } {
    const [dueAt, reason = '', tenant = '', id = '', upload = ''] = key.slice(this.marks.length).split('/');
    return { dueAt: Number(dueAt), reason, place: { tenant, id, upload } };
  }

  /** What the key of a description of the tenant's says. */
  entry(scope: string, key: string): Entry {
    const [tenant = '', id = '', text = ''] = key.split('/').slice(-3);
    // The cast: only `description` makes these keys.
    const parts = decode(text) as [string, number, number, string, number | null, string?, string?];
    const [upload, createdAt, bytes, purpose, expiresAt, filename, contentType] = parts;
    const file = {
      ...{ scope, id: decode(id) as string, createdAt, bytes, purpose, filename: filename ?? '' },
      ...(contentType === undefined ? {} : { contentType }),
      ...(expiresAt === null ? {} : { expiresAt }),
    };
    return { key, place: { tenant, id, upload }, file, isShort: filename === undefined };
  }
}

/** The place of a new upload. Throws a `RangeError` for an id that is too long for a key. */
export function newPlace({ scope, id }: ResponseKey, upload: string): Place {
  const encoded = encode(id);
  if (encoded.length > MAX_SEGMENT) throw new RangeError('s3Files: the id of the file is too long for a key of S3.');
  return { tenant: tenantOf(scope), id: encoded, upload };
}

/** Of the JSON, which spells every text in its own way, even one that UTF-8 cannot. */
function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function decode(text: string): unknown {
  return JSON.parse(Buffer.from(text, 'base64url').toString());
}

function tenantOf(scope: string): string {
  return hash('sha256', JSON.stringify(scope), 'base64url');
}
