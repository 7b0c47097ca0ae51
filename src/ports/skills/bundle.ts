/** Checks the files of a skill that a client sends, and packs and unpacks them as a zip. */
import type { Entry, ZipFile as ZipArchive } from 'yauzl';
import type { ZipFile as ZipWriter } from 'yazl';
import { ApiError } from '../../protocol/errors.ts';
import { quoteId } from '../../protocol/ids.ts';
import { toWellFormed, visibleText } from '../../protocol/printable.ts';
import { requirePeer } from '../host/peer.ts';
import { frontMatter } from './front-matter.ts';
import type { Skill, SkillFile } from './skill-source.ts';

/** What a skill may hold. */
export interface BundleLimits {
  /** The files of it. */
  readonly files: number;
  /** The bytes of one file, unpacked. */
  readonly fileBytes: number;
  /** The bytes of all files, unpacked. */
  readonly unpackedBytes: number;
}

/** Packs and unpacks skills. */
export interface Bundles {
  /** The files of a zip. Throws an `ApiError` (`invalid_skill`). */
  unpack(zip: Uint8Array, param: string): Promise<readonly SkillFile[]>;
  /** A zip of the files, the same for the same files. */
  pack(files: readonly SkillFile[]): Promise<Uint8Array>;
}

/** The functions of `yauzl` that are used here. */
interface ZipReader {
  fromBuffer(
    buffer: Buffer,
    options: { readonly lazyEntries: true },
    callback: (error: Error | null, zip?: ZipArchive) => void,
  ): void;
}

const MAX_PATH_LENGTH = 512;
const MAX_SEGMENT_LENGTH = 200;
const MAX_DEPTH = 16;
const MAX_NAME_LENGTH = 64;
const MAX_DESCRIPTION_LENGTH = 1024;
/** Folders are entries of their own. */
const ENTRIES_PER_FILE = 4;
const MAIN = /^skill\.md$/i;
/** What macOS adds to archives. */
const DEBRIS = /(?:^|\/)(?:__MACOSX\/|\.DS_Store$)/;
/** The bits of a Unix mode that say what a file is; a regular one, or no word about it. */
const [TYPE_BITS, REGULAR, FOLDER] = [0o170000, 0o100000, 0o040000];
const PLAIN_FILE = 0o100644;
/** The same in every zip, so that equal files make equal zips. */
const MODIFIED = new Date(Date.UTC(2000, 0, 1));

/** For the function `owner`. Throws an `Error` that names the package to install if one is missing. */
export function skillBundles(owner: string, limits: BundleLimits): Bundles {
  const reader = requirePeer<ZipReader>(owner, 'yauzl');
  const writer = requirePeer<{ readonly ZipFile: new () => ZipWriter }>(owner, 'yazl');
  return {
    unpack: (zip, param) => unpackedFiles(reader, zip, limits, param),
    async pack(files) {
      const zip = new writer.ZipFile();
      for (const { path, data } of files)
        zip.addBuffer(Buffer.from(data.buffer, data.byteOffset, data.byteLength), path, {
          mtime: MODIFIED,
          mode: PLAIN_FILE,
        });
      zip.end();
      const pieces: Buffer[] = [];
      // The cast: the types of the package know only an older kind of stream.
      for await (const piece of zip.outputStream as AsyncIterable<Buffer>) pieces.push(piece);
      return Buffer.concat(pieces);
    },
  };
}

/** The skill of these files, whose paths may begin with a folder that all share. Throws an `ApiError` (`invalid_skill`). */
export function skillIn(given: readonly SkillFile[], limits: BundleLimits, param: string): Skill {
  const wanted = given.filter(({ path }) => !DEBRIS.test(path));
  if (wanted.length > limits.files) throw invalidSkill(`It has more than ${limits.files} files.`, param);
  let bytes = 0;
  for (const { path, data } of wanted) {
    checkPath(path, param);
    bytes += data.byteLength;
    if (data.byteLength > limits.fileBytes || bytes > limits.unpackedBytes) throw tooLarge(limits, param);
  }
  const files = withoutSharedFolder(wanted);
  checkPlaces(files, param);
  const mains = files.filter(({ path }) => MAIN.test(path));
  const [main] = mains;
  if (!main || mains.length > 1) throw invalidSkill("It needs exactly one file 'SKILL.md' in its folder.", param);
  const fields = frontMatter(toWellFormed(Buffer.from(main.data).toString()));
  const name = visibleText(fields?.get('name') ?? '');
  const description = visibleText(fields?.get('description') ?? '');
  if (name === '' || name.length > MAX_NAME_LENGTH)
    throw invalidSkill(
      `The front matter of its SKILL.md needs a 'name' of at most ${MAX_NAME_LENGTH} characters.`,
      param,
    );
  if (description === '' || description.length > MAX_DESCRIPTION_LENGTH) {
    const most = `a 'description' of at most ${MAX_DESCRIPTION_LENGTH} characters`;
    throw invalidSkill(`The front matter of its SKILL.md needs ${most}.`, param);
  }
  return { name, description, files };
}

/** The error for what is no skill. */
function invalidSkill(why: string, param: string, cause?: unknown): ApiError {
  return new ApiError('invalid_skill', `This is not a skill that can be kept. ${why}`, { param, cause });
}

async function unpackedFiles(reader: ZipReader, bytes: Uint8Array, limits: BundleLimits, param: string) {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    const zip = await new Promise<ZipArchive>((resolve, reject) => {
      reader.fromBuffer(buffer, { lazyEntries: true }, (error, archive) =>
        archive ? resolve(archive) : reject(error),
      );
    });
    return await readEntries(zip, limits, param);
  } catch (cause) {
    if (cause instanceof ApiError) throw cause;
    // Messages of the reader name entries and offsets of the client's own zip, and nothing of this server.
    throw invalidSkill(
      `Its zip cannot be read: ${cause instanceof Error ? cause.message : 'it is broken'}.`,
      param,
      cause,
    );
  }
}

async function readEntries(zip: ZipArchive, limits: BundleLimits, param: string): Promise<readonly SkillFile[]> {
  // As its end declares: no more are read.
  if (zip.entryCount > limits.files * ENTRIES_PER_FILE) throw invalidSkill('Its zip has too many entries.', param);
  const files: SkillFile[] = [];
  let bytes = 0;
  for (let entry = await nextEntry(zip); entry; entry = await nextEntry(zip)) {
    if (entry.fileName.endsWith('/') || DEBRIS.test(entry.fileName)) continue;
    if (files.length >= limits.files) throw invalidSkill(`It has more than ${limits.files} files.`, param);
    checkPath(entry.fileName, param);
    checkEntry(entry, param);
    bytes += entry.uncompressedSize;
    // Before anything is inflated; the reader fails where an entry has more than it declares.
    if (entry.uncompressedSize > limits.fileBytes || bytes > limits.unpackedBytes) throw tooLarge(limits, param);
    files.push({ path: entry.fileName, data: await entryBytes(zip, entry) });
  }
  return files;
}

function nextEntry(zip: ZipArchive): Promise<Entry | undefined> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      zip.off('entry', onEntry).off('end', onEnd).off('error', onError);
    };
    const onEntry = (entry: Entry) => {
      end();
      resolve(entry);
    };
    const onEnd = () => {
      end();
      resolve(undefined);
    };
    const onError = (error: Error) => {
      end();
      reject(error);
    };
    zip.on('entry', onEntry).on('end', onEnd).on('error', onError);
    zip.readEntry();
  });
}

function checkEntry(entry: Entry, param: string): void {
  const type = (entry.externalFileAttributes >>> 16) & TYPE_BITS;
  if (type !== 0 && type !== REGULAR && type !== FOLDER)
    throw invalidSkill(`Its zip holds a link or a device: ${quoteId(entry.fileName)}.`, param);
  if (entry.isEncrypted()) throw invalidSkill('Its zip is encrypted.', param);
}

async function entryBytes(zip: ZipArchive, entry: Entry): Promise<Uint8Array> {
  const stream = await new Promise<AsyncIterable<Buffer>>((resolve, reject) => {
    zip.openReadStream(entry, (error, opened) => (error ? reject(error) : resolve(opened)));
  });
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Throws for a path that may lead out of its folder, or that a system reads in another way. */
function checkPath(path: string, param: string): void {
  const segments = path.split('/', MAX_DEPTH + 1);
  const isPlain = path.length <= MAX_PATH_LENGTH && visibleText(path) === path && !/[\\:]/.test(path);
  const arePlain = segments.every(
    (segment) =>
      segment !== '' && segment !== '.' && segment !== '..' && Buffer.byteLength(segment) <= MAX_SEGMENT_LENGTH,
  );
  if (!isPlain || !arePlain || segments.length > MAX_DEPTH)
    throw invalidSkill(`The path of a file is not allowed: ${quoteId(path)}.`, param);
}

function withoutSharedFolder(files: readonly SkillFile[]): readonly SkillFile[] {
  const first = files[0]?.path ?? '';
  const folder = first.slice(0, first.indexOf('/') + 1);
  if (folder === '' || !files.every(({ path }) => path.startsWith(folder))) return files;
  return files.map(({ path, data }) => ({ path: path.slice(folder.length), data }));
}

/** Throws for two files in one place, and for a file where another has its folder. */
function checkPlaces(files: readonly SkillFile[], param: string): void {
  const places = new Set<string>();
  for (const { path } of files) {
    if (places.has(path)) throw invalidSkill(`It has two files ${quoteId(path)}.`, param);
    places.add(path);
  }
  for (const { path } of files)
    for (let at = path.indexOf('/'); at > 0; at = path.indexOf('/', at + 1))
      if (places.has(path.slice(0, at)))
        throw invalidSkill(`${quoteId(path.slice(0, at))} is a file and a folder.`, param);
}

function tooLarge({ fileBytes, unpackedBytes }: BundleLimits, param: string): ApiError {
  return invalidSkill(`A file may have ${fileBytes} bytes, and all files ${unpackedBytes}, unpacked.`, param);
}
