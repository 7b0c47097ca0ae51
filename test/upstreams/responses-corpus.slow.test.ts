/** Every recorded answer of a Responses server, through an app over that server. */

import fc from 'fast-check';
import { DEFAULT_LIMITS } from '../../src/ports/limits.ts';
import type { ModelEvent } from '../../src/protocol/events.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { responsesUpstream } from '../../src/upstreams/responses/responses-upstream.ts';
import { ask, outcomeOf } from '../http/client.ts';
import { type App, startApp } from '../support/app.ts';
import { eventStream } from '../support/replay.ts';
import { askForJson, askForStream } from '../support/responses-client.ts';
import { describeShared } from '../support/shared.ts';
import type { WireResponse } from '../support/wire-schemas.ts';
import { answers, endedItems, streams } from './recorded-responses.ts';

let fake: FakeUpstream;
let app: App;

beforeAll(async () => {
  fake = await startFakeUpstream();
  app = await startApp({
    options: { upstream: responsesUpstream({ baseURL: fake.baseURL, retries: 0 }), hooks: { onError() {} } },
  });
});
afterAll(() => Promise.all([app.close(), fake.close()]));

const isRecord = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null;
const listOf = (value: unknown) => (Array.isArray(value) ? value : []) as readonly JsonObject[];

/** What a response says: the words, the calls, how it ended and what it used. */
interface Reading {
  readonly status: unknown;
  readonly text: string;
  readonly calls: readonly (readonly unknown[])[];
  readonly tokens: unknown;
}

/** Read as plainly as can be: the items as they were when they were done. */
function readingOf(items: readonly JsonObject[], response: JsonObject | undefined): Reading {
  const parts = items.flatMap(({ type, content }) => (type === 'message' ? listOf(content) : []));
  const calls = items.filter(({ type }) => type === 'function_call');
  const usage = response?.usage as JsonObject | undefined;
  return {
    status: response?.status ?? 'failed',
    text: parts.map(({ text, refusal }) => text ?? refusal ?? '').join(''),
    calls: calls.map(({ call_id, name, arguments: json }) => [call_id, name, json]),
    tokens: [usage?.input_tokens ?? 0, usage?.output_tokens ?? 0],
  };
}

function eventsIn(text: string): readonly JsonObject[] {
  const data = text.split(/\r?\n/).filter((line) => line.startsWith('data:'));
  const parsed = data.map((line) => line.slice(5).trim()).filter((line) => line !== '' && line !== '[DONE]');
  return parsed.map((line) => JSON.parse(line) as JsonObject);
}

const isEnd = ({ type }: JsonObject) => /^response\.(completed|incomplete|failed)$/.test(String(type));

/** What the first response says, as its stream ends there: the recording of a tool's two rounds holds two of them. */
function readStream(text: string): Reading {
  const all = eventsIn(text);
  const end = all.findIndex(isEnd);
  const events = end < 0 ? all : all.slice(0, end + 1);
  const done = endedItems(events);
  const last = events.find(isEnd);
  const response = isRecord(last?.response) ? last.response : undefined;
  return readingOf(done.length > 0 ? done : listOf(response?.output), response);
}

function reported({ status, output, usage }: WireResponse): Reading {
  return readingOf(output as unknown as readonly JsonObject[], { status, usage });
}

/** All that the upstream says of a stream that comes in these pieces. */
async function modelEvents(body: string, split: readonly number[]): Promise<readonly ModelEvent[]> {
  fake.reply({ ...eventStream(body), split });
  const upstream = responsesUpstream({ baseURL: fake.baseURL, retries: 0 });
  const limits = { ...DEFAULT_LIMITS, idleTimeoutMs: 5000, eventBytes: 10_000_000 };
  const call = { signal: new AbortController().signal, headers: new Headers(), limits, note() {} };
  const events: ModelEvent[] = [];
  for await (const batch of upstream.stream({ model: 'm', items: [], tools: [] }, call)) events.push(...batch);
  await upstream.close?.();
  return events;
}

const isWhole = (text: string) => ['completed', 'incomplete'].includes(String(readStream(text).status));

const whole = streams.filter(([, text]) => isWhole(text));
const broken = streams.filter(([, text]) => !isWhole(text));

describeShared('a recorded stream of a Responses server, through an Express app', () => {
  it('[Q-03] [X-07] [B-46] is one of many', () => expect(streams.length).toBeGreaterThan(30));

  it.each(whole)('[Q-03] [X-07] [B-46] [P-02] holds what the recording holds: %s', async (_, text) => {
    fake.reply(eventStream(text));
    const { response } = await askForStream(app.url);
    expect(reported(response)).toEqual(readStream(text));
  });

  it.each(broken)('[Q-03] [A-18] fails as the recording does: %s', async (_, text) => {
    fake.reply(eventStream(text));
    const { ending, error } = await outcomeOf(app.url, await ask(app.url, { stream: true }));
    expect(['failed', 'refused']).toContain(ending);
    expect(text).toContain(`"${error}"`);
  });

  it.each(whole)('[Q-03] [P-08] means the same in any pieces: %s', async (_, text) => {
    const uncut = await modelEvents(text, []);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(Buffer.byteLength(text)), { maxLength: 16 }), async (offsets) => {
        const split = [...new Set(offsets)].sort((one, other) => one - other).filter(Boolean);
        expect(await modelEvents(text, split)).toEqual(uncut);
      }),
      { numRuns: 3 },
    );
  });
});

describeShared('a recorded JSON answer of a Responses server, through an Express app', () => {
  it.each(answers)('[Q-03] [X-07] [B-46] holds what the recording holds: %s', async (_, text) => {
    const recorded = JSON.parse(text) as JsonObject;
    fake.reply({ body: text, headers: { 'content-type': 'application/json' } });
    expect(reported(await askForJson(app.url))).toEqual(readingOf(listOf(recorded.output), recorded));
  });
});
