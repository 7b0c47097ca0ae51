/** The files of the page, which the build creates. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { BUILD_FOLDER } from '../../../ports/host/package-files.cjs';

const unpacked: (packed: Buffer) => Promise<Buffer> = promisify(gunzip);

/** Each file of the page, with its type. */
const TYPES: Readonly<Record<string, string>> = {
  'index.html': 'text/html; charset=utf-8',
  'app.js': 'text/javascript; charset=utf-8',
  'app.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
};

/** One file. */
interface Asset {
  readonly type: string;
  readonly content: Buffer;
}

/** The file of the page with this name; undefined if the page has none. Rejects if the build is missing. */
export async function assetNamed(name: string): Promise<Asset | undefined> {
  const type = Object.hasOwn(TYPES, name) ? TYPES[name] : undefined;
  if (type === undefined) return undefined;
  const packed = await readFile(join(BUILD_FOLDER, 'inspector-ui', `${name}.gz`));
  return { type, content: await unpacked(packed) };
}
