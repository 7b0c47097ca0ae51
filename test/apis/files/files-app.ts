/** A real Express app with the Files API on a free port, and forms to send to it. */
import { setTimeout as sleep } from 'node:timers/promises';
import express, { type Request } from 'express';
import { diskFiles, type FileStore, type FilesRouterOptions, filesRouter } from '../../../src/files.ts';
import { type Listening, listening } from '../../support/listening.ts';
import { PATIENCE_MS } from '../../support/patience.ts';
import { bytesBelow, diskFolder, filesBelow } from './disk-folder.ts';

/** A running app over a folder of its own. */
export interface FilesApp extends Listening {
  /** Origin and mount path. */
  readonly base: string;
  readonly folder: string;
  readonly files: FileStore;
  /** The bytes in the folder, and the files there. */
  readonly bytes: () => number;
  readonly paths: () => readonly string[];
}

/** The options besides the store. */
export type FilesAppOptions = Partial<FilesRouterOptions<Request>>;

/** Starts it. */
export async function startFilesApp(options: FilesAppOptions = {}): Promise<FilesApp> {
  const { folder, remove } = diskFolder();
  const { files = diskFiles({ folder }) } = options;
  const app = express().use('/v1', filesRouter({ logger: false, ...options, files }));
  const server = await listening(app);
  const close = async () => {
    await server.close();
    remove();
  };
  const inside = { bytes: () => bytesBelow(folder), paths: () => filesBelow(folder) };
  return { ...server, close, base: `${server.url}/v1`, folder, files, ...inside };
}

/** One part of a form, as its bytes on the wire. */
export interface FormPart {
  readonly name: string;
  readonly filename?: string;
  readonly type?: string;
  readonly value: string | Uint8Array;
  /** Further lines of its header, each with its end. */
  readonly extra?: string;
}

export const BOUNDARY = 'the-boundary';
export const PURPOSE: FormPart = { name: 'purpose', value: 'user_data' };

/** A file to send. */
export function filePart(value: string | Uint8Array, filename = 'notes.txt'): FormPart {
  return { name: 'file', filename, type: 'text/plain', value };
}

/** The form as bytes; without an end if `isCut`. */
export function formOf(parts: readonly FormPart[], isCut = false, boundary = BOUNDARY): Buffer {
  const pieces = parts.flatMap(({ name, filename, type, value, extra = '' }) => [
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"`,
    filename === undefined ? '' : `; filename="${filename}"`,
    type === undefined ? '\r\n' : `\r\nContent-Type: ${type}\r\n`,
    `${extra}\r\n`,
    value,
    '\r\n',
  ]);
  return Buffer.concat([...pieces, isCut ? '' : `--${boundary}--\r\n`].map((piece) => Buffer.from(piece as string)));
}

/** A status and a body, parsed. */
export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect
  readonly json: any;
}

export const ALICE = { authorization: 'Bearer alice' };
export const BOB = { authorization: 'Bearer bob' };

/** Sends the form. */
export async function post(
  base: string,
  body: Buffer | readonly FormPart[],
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const type = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };
  const bytes = Buffer.isBuffer(body) ? body : formOf(body as readonly FormPart[]);
  return answerOf(
    await fetch(`${base}/files`, { method: 'POST', headers: { ...ALICE, ...type, ...headers }, body: bytes }),
  );
}

/** Asks for what is below the API. */
export async function send(base: string, path: string, method = 'GET', headers = ALICE): Promise<Answer> {
  return answerOf(await fetch(`${base}${path}`, { method, headers }));
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  return { status: response.status, json: text.startsWith('{') ? JSON.parse(text) : text };
}

/** Waits until it is so. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error('It never came to be.');
    await sleep(10);
  }
}
