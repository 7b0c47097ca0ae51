/** A real Express app with the Skills API on a free port, and skills to send to it. */
import express from 'express';
import { ZipFile } from 'yazl';
import { type FileStore, memoryFiles } from '../../../src/files.ts';
import { createSkills, type SkillQuota, type Skills, skillsRouter } from '../../../src/skills.ts';
import { type Listening, listening } from '../../support/listening.ts';

/** A running app. */
export interface SkillsApp extends Listening {
  readonly base: string;
  readonly skills: Skills;
  readonly files: FileStore;
}

/** Starts it. */
export async function startSkillsApp(quota: SkillQuota = {}, files: FileStore = memoryFiles()): Promise<SkillsApp> {
  const skills = createSkills({ files, quota });
  const server = await listening(express().use('/v1', skillsRouter({ skills, logger: false })));
  return { ...server, base: `${server.url}/v1`, skills, files };
}

/** The text of a SKILL.md. */
export function manifest(name = 'sums', description = 'Adds numbers.'): string {
  return `---\nname: ${name}\ndescription: ${description}\n---\n# ${name}\nRun scripts/sum.py.\n`;
}

/** An entry of a zip: its text, and the mode of a Unix system. */
export type ZipEntry = string | { readonly text: string; readonly mode: number };

/** A zip of these entries, by their paths. */
export async function zipOf(entries: Readonly<Record<string, ZipEntry>>): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [path, entry] of Object.entries(entries)) {
    const { text, mode } = typeof entry === 'string' ? { text: entry, mode: 0o100644 } : entry;
    zip.addBuffer(Buffer.from(text), path, { mode });
  }
  zip.end();
  const pieces: Buffer[] = [];
  for await (const piece of zip.outputStream as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** The bytes with each of these texts replaced by another of the same length: paths that no writer of zips takes. */
export function patched(bytes: Buffer, from: string, to: string): Buffer {
  return Buffer.from(bytes.toString('latin1').replaceAll(from, to), 'latin1');
}

/** A form of files under these names. */
export function formWith(files: readonly (readonly [name: string, data: string | Uint8Array])[]): FormData {
  const form = new FormData();
  const field = files.length === 1 ? 'files' : 'files[]';
  for (const [name, data] of files) form.append(field, new Blob([data as Uint8Array<ArrayBuffer>]), name);
  return form;
}

export const ALICE = { authorization: 'Bearer alice' };
export const BOB = { authorization: 'Bearer bob' };

/** A status and a body, parsed. */
export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect
  readonly json: any;
}

/** Asks for what is below the API. */
export async function ask(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, { headers: ALICE, ...init });
  return { status: response.status, json: await response.json() };
}

/** Uploads a zip as a skill. */
export function upload(base: string, zip: Uint8Array, headers = ALICE): Promise<Answer> {
  return ask(`${base}/skills`, { method: 'POST', headers, body: formWith([['skill.zip', zip]]) });
}
