/** The cases of the upstream contract: the events it emits, and how it handles every failure of a server. */
import assert from 'node:assert/strict';
import { ApiError } from '../../protocol/errors.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import type { Item } from '../../protocol/items.ts';
import {
  assertBroken,
  collectEvents,
  collectWhole,
  eventsText,
  request,
  requestNext,
  type UpstreamCase,
  type UpstreamUnderTest,
  upstreamScript,
} from './upstream-case.ts';

/** A short time limit for the cases about servers that stop sending, in milliseconds. */
const SHORT_MS = 100;

const { words, calls, usage, message, messages } = upstreamScript;

/** A case about one play of a scenario. */
function one(
  name: string,
  scenario: UpstreamCase['plays'][number]['scenario'],
  run: (subject: UpstreamUnderTest) => Promise<void>,
): UpstreamCase {
  // The cast: there are as many subjects as plays.
  return { name, plays: [{ scenario }], run: (subject) => run(subject as UpstreamUnderTest) };
}

/** A case about one scenario in one piece and in others, which must give the same events. */
function alike(name: string, scenario: 'text' | 'calls', split: 'byte' | readonly number[]): UpstreamCase {
  return {
    name,
    plays: [{ scenario }, { scenario, split }],
    async run(...subjects) {
      const [whole, pieces] = await Promise.all(subjects.map(collectWhole));
      assert.deepEqual(pieces?.events, whole?.events);
    },
  };
}

const playable: readonly UpstreamCase[] = [
  one('[X-07] emits the text in order', 'text', async (subject) => {
    assert.equal(eventsText((await collectWhole(subject)).events), words.join(''));
  }),
  one('[X-07] passes on together what arrived together', 'text', async (subject) => {
    const { batches } = await collectWhole(subject);
    assert.ok(batches.length < words.length / 4, `${words.length} words came in ${batches.length} batches`);
  }),
  one('[X-07] emits one finish event, at the end', 'text', async (subject) => {
    const { events } = await collectWhole(subject);
    const finishes = events.filter(({ type }) => type === 'finish');
    assert.deepEqual([events.at(-1), finishes.length], [{ type: 'finish', reason: 'stop' }, 1]);
  }),
  one('[S-10] [X-07] emits the complete usage', 'text', async (subject) => {
    const playable = (await collectWhole(subject)).events.findLast((event) => event.type === 'usage');
    const details = { cache_write_tokens: 0, ...playable?.usage.input_tokens_details };
    assert.deepEqual(playable && { ...playable.usage, input_tokens_details: details }, {
      input_tokens: usage.input,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: usage.output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: usage.input + usage.output,
    });
  }),
  one('[P-05] [X-07] keeps parallel tool calls apart', 'calls', async (subject) => {
    assert.deepEqual(assembleCalls((await collectWhole(subject)).events), calls);
  }),
  alike('[P-08] [X-07] emits the same text byte by byte', 'text', 'byte'),
  alike('[P-08] [X-07] emits the same text in pieces of any size', 'text', [1, 2, 3, 17, 64, 65, 150, 301, 1024]),
  alike('[P-08] [X-07] emits the same calls byte by byte', 'calls', 'byte'),
];

/** The messages of the turn before, which not every API keeps apart. */
const history: readonly UpstreamCase[] = [
  one('[V-05] [X-07] sends all messages back in order, even if the API has no phases', 'text', async (s) => {
    const previous = messages.map(
      ({ phase, text }): Item => ({ type: 'message', role: 'assistant', content: text, phase }),
    );
    const { error } = await collectEvents(requestNext(s, previous));
    const body = JSON.stringify(s.server.requests.at(-1));
    const places = messages.map(({ text }) => body?.indexOf(text) ?? -1);
    assert.deepEqual([error, places.includes(-1)], [undefined, false], `${body} holds all of the output`);
    assert.deepEqual(
      places,
      places.toSorted((first, second) => first - second),
    );
  }),
];

/** The tool calls of the events, assembled by their indexes. */
function assembleCalls(events: readonly ModelEvent[]): readonly unknown[] {
  const found = new Map<number, { id: string | undefined; name: string | undefined; arguments: string }>();
  for (const event of events) {
    if (event.type !== 'tool-call-delta') continue;
    const call = found.get(event.call) ?? { id: event.id, name: event.name, arguments: '' };
    found.set(event.call, { ...call, arguments: call.arguments + event.arguments });
  }
  return [...found].toSorted(([first], [second]) => first - second).map(([, call]) => call);
}

const refused: readonly UpstreamCase[] = [
  one('[P-09] [X-07] throws an ApiError with the status of a refusal, before the first batch', 'refusal', async (s) => {
    const { batches, error } = await collectEvents(request(s));
    assert.ok(error instanceof ApiError, `an ApiError was thrown, not ${error}`);
    assert.deepEqual([batches.length, error.status, error.message], [0, 400, message]);
  }),
  one('[P-09] [X-07] does not retry a refused request', 'refusal', async (subject) => {
    await collectEvents(request(subject));
    assert.equal(subject.server.requests.length, 1);
  }),
  one('[P-09] [X-07] retries if the server was busy', 'busy', async (subject) => {
    const { events } = await collectWhole(subject);
    assert.deepEqual([eventsText(events), subject.server.requests.length], [words.join(''), 2]);
  }),
  one('[P-09] [P-14] [X-07] reveals neither key nor address in an error', 'secrets', async (subject) => {
    const { error } = await collectEvents(request(subject));
    assert.ok(error instanceof ApiError && error.status === 401, `a 401 was thrown, not ${error}`);
    const text = JSON.stringify([error.body, error.headers]);
    for (const secret of subject.secrets) assert.ok(!text.includes(secret), `${text} contains a secret`);
    assert.ok(subject.secrets.length > 1, 'there are a key and an address to look for');
  }),
];

const broken: readonly UpstreamCase[] = [
  one('[P-08] [X-07] throws upstream_truncated if the connection is cut', 'cut', async (subject) => {
    assertBroken(await collectEvents(request(subject)), subject, 'upstream_truncated');
  }),
  one('[P-08] [X-07] throws upstream_truncated if the answer lacks its end', 'unfinished', async (subject) => {
    assertBroken(await collectEvents(request(subject)), subject, 'upstream_truncated');
  }),
  one('[P-08] [X-07] throws upstream_timeout if the server stops sending', 'stall', async (subject) => {
    assertBroken(await collectEvents(request(subject, { idleTimeoutMs: SHORT_MS })), subject, 'upstream_timeout');
  }),
  one('[P-08] [X-07] throws upstream_timeout if the server never answers', 'silence', async (subject) => {
    const { batches, error } = await collectEvents(request(subject, { firstByteTimeoutMs: SHORT_MS }));
    assert.ok(error instanceof ApiError, `an ApiError was thrown, not ${error}`);
    assert.deepEqual([batches.length, error.code], [0, 'upstream_timeout']);
  }),
  one('[P-08] [P-09] [X-07] throws an error in a stream after the text before it', 'failure', async (subject) => {
    const { events, error } = await collectEvents(request(subject));
    assert.ok(error instanceof ApiError, `an ApiError was thrown, not ${error}`);
    const seen = [eventsText(events), error.message, subject.server.requests.length];
    assert.deepEqual(seen, [words[0], message, 1]);
  }),
];

const left: readonly UpstreamCase[] = [
  one('[P-10] [X-07] closes the connection when the call is aborted', 'stall', async (subject) => {
    const caller = new AbortController();
    const reason = new Error('The client left.');
    const answer = request(subject, {}, caller.signal)[Symbol.asyncIterator]();
    await answer.next();
    caller.abort(reason);
    await assert.rejects(answer.next(), (error) => error === reason);
    await subject.server.closed(0);
  }),
  one('[P-10] [X-07] closes the connection when the reader stops', 'stall', async (subject) => {
    for await (const batch of request(subject)) if (batch.length > 0) break;
    await subject.server.closed(0);
  }),
  one('[P-10] [X-07] sends nothing for a call that was aborted before', 'text', async (subject) => {
    const reason = new Error('The client left.');
    const { error } = await collectEvents(request(subject, {}, AbortSignal.abort(reason)));
    assert.deepEqual([error, subject.server.requests.length], [reason, 0]);
  }),
  one('[X-07] can be closed twice', 'text', async ({ upstream }) => {
    await upstream.close?.();
    await upstream.close?.();
  }),
];

/** All cases. */
export const upstreamCases: readonly UpstreamCase[] = [...playable, ...history, ...refused, ...broken, ...left];
