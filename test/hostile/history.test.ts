/** Conversations and chains that are longer than the server's memory: it must refuse them, and live. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { StoredResponse } from '../../src/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { type FakeUpstream, startFakeUpstream, textStream } from '../../src/testing/index.ts';
import { databaseFile, sqliteDrivers } from '../stores/sqlite-drivers.ts';
import { json } from './race-nodes.ts';
import { tally } from './tally.ts';

const MIB = 1024 * 1024;
const HEAP_MIB = 768;
const { tried } = tally('long histories');

let file: ReturnType<typeof databaseFile>;
let upstream: FakeUpstream;
let child: ChildProcess;
let url: string;

beforeAll(async () => {
  file = databaseFile();
  seed();
  upstream = await startFakeUpstream({ reply: { body: textStream('Hello') } });
  child = fork(join(import.meta.dirname, 'history-app.ts'), {
    execArgv: [
      `--max-old-space-size=${HEAP_MIB}`,
      '--import',
      join(import.meta.dirname, '../support/memory-hooks.mjs'),
    ],
    env: { ...process.env, UPSTREAM_URL: upstream.baseURL, DATABASE: file.file },
  });
  [url] = (await once(child, 'message')) as [string];
});
afterAll(async () => {
  child?.kill('SIGKILL');
  await upstream?.close();
  file?.remove();
});

/** Two chains of responses of 1 MiB: `fits_30` can be continued, `long_200` cannot. */
function seed(): void {
  const database = sqliteDrivers.find((driver) => driver.open)?.open?.(file.file);
  if (!database) throw new Error('There is no driver.');
  const store = sqliteStore({ database });
  store.setup();
  database.exec('PRAGMA synchronous = OFF');
  for (const [name, length] of [
    ['fits', 30],
    ['long', 200],
  ] as const)
    for (let turn = 1; turn <= length; turn += 1) store.put(turnOf(name, turn));
  database.close();
}

function turnOf(name: string, turn: number): StoredResponse {
  const content = Array.from({ length: 1000 }, () => ({ type: 'input_text', text: 'x'.repeat(1000) }));
  return {
    scope: 'anonymous',
    id: `${name}_${turn}`,
    ...(turn > 1 && { previousId: `${name}_${turn - 1}` }),
    createdAt: 0,
    input: [{ type: 'message', role: 'user', id: `msg_${name}${turn}`, content }],
    output: [],
    resource: {},
  };
}

async function peakBytes(): Promise<number> {
  const answer = once(child, 'message');
  child.send('report');
  const [bytes] = await answer;
  return Number(bytes);
}

function codeIn({ error }: Readonly<Record<string, unknown>>): unknown {
  // The cast: the envelope of an error.
  return (error as { readonly code?: unknown } | null | undefined)?.code;
}

/** How often each outcome came. */
function counted(outcomes: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

it('[F-05] refuses appends to a conversation past its bound, and pages what it holds', async () => {
  const { id } = (await json(`${url}/conversations`, 'POST', {})).body;
  const outcomes: string[] = [];
  for (let append = 0; append < 20; append += 1) {
    const content = 'x'.repeat(1.5 * MIB);
    const items = Array.from({ length: 20 }, () => ({ type: 'message', role: 'user', content }));
    const { status, body } = await json(`${url}/conversations/${id}/items`, 'POST', { items });
    outcomes.push(`${status} ${codeIn(body) ?? ''}`);
    const { body: page } = await json(`${url}/conversations/${id}/items?limit=1`, 'GET');
    expect(page.has_more).toBe(true);
  }
  const turn = await json(`${url}/responses`, 'POST', { model: 'm', input: 'x'.repeat(3 * MIB), conversation: id });
  const next = await json(`${url}/responses`, 'POST', { model: 'm', input: 'Hi', conversation: id });
  expect(counted(outcomes)).toEqual({ '200 ': 1, '400 conversation_too_long': 19 });
  expect([turn.status, next.status, codeIn(next.body)]).toEqual([200, 400, 'conversation_too_long']);
  expect((await peakBytes()) / MIB).toBeLessThan(2 * HEAP_MIB);
  tried('an append of 30 MiB to a conversation', 20);
});

it('[F-05] answers 12 continuations of a long chain at the same time, and refuses those of one that is too long', async () => {
  const continued = (id: string) =>
    json(`${url}/responses`, 'POST', { model: 'm', input: 'Hi', previous_response_id: id });
  for (const [id, outcome] of [
    ['fits_30', '200 '],
    ['long_200', '400 history_too_long'],
  ] as const) {
    const answers = await Promise.all(Array.from({ length: 12 }, () => continued(id)));
    expect(counted(answers.map(({ status, body }) => `${status} ${codeIn(body) ?? ''}`))).toEqual({ [outcome]: 12 });
    tried(`a continuation of ${id}`, 12);
  }
  expect((await peakBytes()) / MIB).toBeLessThan(2 * HEAP_MIB);
});
