/** The limits of tools that the server runs: at the limit, one past it, and a client that leaves during a call. */

import { functionTools } from '../../src/index.ts';
import type { Limits } from '../../src/ports/limits.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import {
  type FakeReply,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
  toolCallStream,
} from '../../src/testing/index.ts';
import { type App, startApp } from '../support/app.ts';
import { withLimits } from '../support/limits.ts';
import { HOUR_LONG_SETTINGS } from '../support/patience.ts';
import { answerTextIn, ask, askJson, outcomeOf } from './client.ts';

let fake: FakeUpstream;
let app: App;
let running: number;
let most: number;
let runs: number;
let aborted: number;

afterEach(() => Promise.all([app.close(), fake.close()]));

/** Tools that count how they are run: one answers at once, one after a while, one never, one at length. */
const tools = functionTools({
  now: { execute: counted(async () => `result ${runs}`) },
  same: { execute: counted(async () => 'the same') },
  slow: { execute: counted(() => new Promise((resolve) => setTimeout(resolve, 60, 'slow'))) },
  never: {
    execute: counted(async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      aborted += 1;
      throw signal.reason;
    }),
  },
  long: { parameters: { type: 'object' }, execute: counted(async () => 'x'.repeat(1000)) },
});

type Execute = (context: { readonly signal: AbortSignal }) => Promise<unknown>;

function counted(act: Execute) {
  return async (_: unknown, context: { readonly signal: AbortSignal }) => {
    runs += 1;
    running += 1;
    most = Math.max(most, running);
    try {
      return await act(context);
    } finally {
      running -= 1;
    }
  };
}

async function start(limits: Partial<Limits>, ...replies: readonly FakeReply[]): Promise<void> {
  [running, most, runs, aborted] = [0, 0, 0, 0];
  fake = await startFakeUpstream();
  fake.reply(...replies);
  app = await withLimits(limits, (limits) => startApp({ upstream: fake, options: { limits, tools } }));
}

let ids = 0;

/** A round in which the model calls the tool so many times. */
function round(name: string, times = 1): FakeReply {
  const calls = Array.from({ length: times }, () => ({ id: `call_${ids++}`, name, arguments: '{}' }));
  return { body: toolCallStream(calls) };
}

const ANSWER: FakeReply = { body: textStream('Done.') };

function times<Value>(count: number, make: () => Value): readonly Value[] {
  return Array.from({ length: count }, make);
}

/** The status of the response, why it is incomplete, its text, and how often the model was asked and the tool run. */
async function outcome(body: JsonObject = {}): Promise<readonly unknown[]> {
  const response = await askJson(app.url, body);
  const details = response.incomplete_details as JsonObject | null;
  return [response.status, details?.reason ?? null, answerTextIn(response), fake.requests.length, runs];
}

/** The results of its calls in the last request to the model. */
function toolMessages(): readonly unknown[] {
  const { messages } = (fake.requests.at(-1)?.body ?? {}) as { messages: readonly JsonObject[] };
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
}

describe('a limit of tools', () => {
  it.each([
    [25, {}],
    [2, { toolIterations: 2 }],
  ])('[P-10] of rounds is kept: toolIterations, %i', async (rounds, limits) => {
    await start(limits, ...times(rounds, () => round('now')), ANSWER);
    const at = await outcome();
    await Promise.all([app.close(), fake.close()]);
    await start(limits, ...times(rounds + 1, () => round('now')), ANSWER);
    const [status, , text, requested, ran] = await outcome();
    expect(at).toEqual(['completed', null, 'Done.', rounds + 1, rounds]);
    expect([status, text, requested, ran]).toEqual(['incomplete', '', rounds + 1, rounds]);
  });

  it.each([
    ['toolCalls', { toolCalls: 3 }, {}],
    ['max_tool_calls', {}, { max_tool_calls: 3 }],
  ])('[P-10] of calls is kept: %s', async (_, limits, body) => {
    await start(limits, round('now', 2), round('now'), ANSWER);
    const at = await outcome(body);
    await Promise.all([app.close(), fake.close()]);
    await start(limits, round('now', 2), round('now', 2), ANSWER);
    const [status, , , requested, ran] = await outcome(body);
    expect(at).toEqual(['completed', null, 'Done.', 3, 3]);
    expect([status, requested, ran]).toEqual(['incomplete', 2, 3]);
  });

  it.each([
    [8, {}],
    [2, { parallelTools: 2 }],
  ])('[P-10] of calls side by side is kept: parallelTools, %i', async (limit, limits) => {
    await start(limits, round('slow', limit + 2), ANSWER);
    const seen = await outcome();
    expect([seen, most]).toEqual([['completed', null, 'Done.', 2, limit + 2], limit]);
  });

  it('[P-10] of time is kept: toolTimeoutMs', async () => {
    await start({ toolTimeoutMs: 150 }, round('slow'), round('never'), ANSWER);
    const seen = await outcome();
    expect([seen, toolMessages(), aborted]).toEqual([
      ['completed', null, 'Done.', 3, 2],
      ['slow', 'The tool did not answer within 150 ms.'],
      1,
    ]);
  });

  it.each([
    [1000, 'x'.repeat(1000)],
    [999, 'The tool answered with 1000 bytes, more than the 999 that are allowed.'],
  ])('[P-10] of output is kept: toolOutputBytes, %i', async (toolOutputBytes, reported) => {
    await start({ toolOutputBytes }, round('long'), ANSWER);
    const seen = await outcome();
    expect([seen, toolMessages()]).toEqual([['completed', null, 'Done.', 2, 1], [reported]]);
  });

  it('[P-10] of repetition is kept: repeatedCalls', async () => {
    await start({ repeatedCalls: 3 }, ...times(3, () => round('same')), ANSWER);
    const seen = await outcome();
    const choices = fake.requests.map(({ body }) => (body as JsonObject).tool_choice ?? 'auto');
    expect([seen, choices]).toEqual([
      ['completed', null, 'Done.', 4, 3],
      ['auto', 'auto', 'auto', 'none'],
    ]);
  });

  it('[P-09] of the whole turn ends a tool too: durationMs', async () => {
    await start({ durationMs: 300 }, round('never'));
    const { ending, error } = await outcomeOf(app.url, await ask(app.url, { stream: true }));
    expect([ending, error, aborted]).toEqual(['failed', 'duration_exceeded', 1]);
  });
});

describe('a client that leaves during a call of a tool', () => {
  it.each([true, false])('[P-10] ends the call at once (stream: %s)', async (stream) => {
    await start(HOUR_LONG_SETTINGS, round('never'));
    const client = new AbortController();
    const answer = ask(app.url, { stream }, { signal: client.signal });
    answer.catch(() => {});
    while (running === 0) await new Promise(setImmediate);
    client.abort();
    while (running > 0) await new Promise(setImmediate);
    expect([aborted, fake.requests.length]).toEqual([1, 1]);
  });
});

describe('a router that drains during a call of a tool', () => {
  it('fails the response at the deadline and ends the call', async () => {
    await start({}, round('never'));
    const answer = ask(app.url, { stream: true });
    while (running === 0) await new Promise(setImmediate);
    await app.router.drain({ timeoutMs: 50 });
    const { ending, error } = await outcomeOf(app.url, await answer);
    expect([ending, error, aborted]).toEqual(['failed', 'server_draining', 1]);
  });
});
