/** Apps that speak a dialect, and transcripts of their answers. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RouterOptions } from '../../../src/index.ts';
import type { DialectName } from '../../../src/ports/dialect.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { type FakeUpstream, startFakeUpstream } from '../../../src/testing/index.ts';
import { type App, startApp } from '../../support/app.ts';
import { asksOf, CLIENT_TOOLS, type Requested, type Scenario, SERVER_TOOLS } from './scenarios.ts';

/** One event, as it stood in `data:`. */
export type Event = JsonObject & { readonly type: string };

/** All dialects. */
export const NAMES: readonly DialectName[] = ['openai', 'open-responses-server', 'vllm-responses', 'tokligence'];

/** A running app with its model server. */
export interface DialectApp extends App {
  readonly fake: FakeUpstream;
}

/** Runs with an app that has the scenes' tools, and closes it. */
export async function withDialect<Result>(
  dialect: RouterOptions['dialect'],
  run: (app: DialectApp) => Promise<Result>,
  { mount = '/v1', ...options }: RouterOptions & { readonly mount?: string } = {},
): Promise<Result> {
  const fake = await startFakeUpstream();
  const shown = { dialect, tools: SERVER_TOOLS, hooks: { onError: () => {} }, ...options };
  const app = await startApp({ upstream: fake, options: shown, mount });
  try {
    return await run({ ...app, fake });
  } finally {
    await app.close();
    await fake.close();
  }
}

/** An answer, read to its end. */
export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

/** Asks as a client does; model, input and tools are filled in for a new response. */
export async function ask(
  url: string,
  { method, path = '/responses', body }: Requested,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const filled = path === '/responses' ? { model: 'm', input: 'Go.', tools: CLIENT_TOOLS, ...body } : body;
  const init = method ? { method } : { method: 'POST', body: JSON.stringify(filled) };
  const answer = await fetch(`${url}${path}`, {
    ...init,
    headers: { 'content-type': 'application/json', ...headers },
  });
  return { status: answer.status, type: answer.headers.get('content-type') ?? '', text: await answer.text() };
}

/** Asks for a response in a scene: the model server says its rounds for this request alone. */
export async function play(
  app: DialectApp,
  { rounds }: Pick<Scenario, 'rounds'>,
  requested: Requested,
): Promise<Answer> {
  if (!requested.method) app.fake.reply(...(requested.rounds ?? rounds));
  return ask(app.url, requested);
}

/** The events of a stream, whatever stands around their data. */
export function eventsOf(text: string): readonly Event[] {
  const data = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json = '']) => json);
  return data.map((json) => JSON.parse(json));
}

/** The types of the events, without their prefix. */
export function typesOf(text: string): readonly string[] {
  return eventsOf(text).map(({ type }) => type.replace(/^response\./, ''));
}

/** The response that a stream or a JSON answer ends with. */
export function finalOf({ text, type }: Answer): JsonObject {
  // The cast: the last event of a stream holds its response.
  return (type.startsWith('text/event-stream') ? eventsOf(text).at(-1)?.response : JSON.parse(text)) as JsonObject;
}

/** The items of the response. */
export function outputOf(answer: Answer): readonly JsonObject[] {
  return finalOf(answer).output as readonly JsonObject[];
}

/** The text without what differs from one run to the next: ids of our own making, numbered as they come, and times. */
export function withoutIdentity(text: string): string {
  const seeds = [...new Set(text.match(/[0-9a-f]{32}/g))];
  const named = seeds.reduce((so, seed, index) => so.replaceAll(seed, `<seed ${index + 1}>`), text);
  return named.replace(/"(created_at|completed_at)":\d+/g, '"$1":0');
}

/** Everything that is asked and answered in a scene. */
export async function transcriptOf(app: DialectApp, scenario: Scenario): Promise<string> {
  const ids: string[] = [];
  let text = '';
  for (const requested of asksOf(scenario)) {
    const path = placeOf(requested, ids);
    const answer = await play(app, scenario, { ...requested, path });
    ids.push(...(/resp_[0-9a-f]{32}/.exec(answer.text) ?? []));
    text += `> ${requested.method ?? 'POST'} ${path} ${JSON.stringify(requested.body ?? null)}\n`;
    text += `< ${answer.status} ${answer.type}\n${answer.text.trimEnd()}\n\n`;
  }
  return withoutIdentity(text);
}

function placeOf({ path = '/responses' }: Requested, ids: readonly string[]): string {
  return path.replace('{first}', ids[0] ?? '').replace('{last}', ids.at(-1) ?? '');
}

const GOLDEN = join(import.meta.dirname, 'golden');

/** Where what a dialect says in a scene is written down. */
export function goldenPath(dialect: DialectName, scenario: string): string {
  return join(GOLDEN, dialect, `${scenario}.txt`);
}

/** What is written down; nothing where nothing is. */
export function golden(dialect: DialectName, scenario: string): string {
  const path = goldenPath(dialect, scenario);
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

/** Everything that is written down of a dialect. */
export function allGolden(dialect: DialectName): string {
  return goldenScenes(dialect)
    .map((scene) => golden(dialect, scene))
    .join('');
}

/** The scenes that are written down. */
export function goldenScenes(dialect: DialectName): readonly string[] {
  return readdirSync(join(GOLDEN, dialect)).map((file) => file.replace(/\.txt$/, ''));
}
