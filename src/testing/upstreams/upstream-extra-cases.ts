/** Cases of the upstream contract about features of only some APIs: provider state, phases, citations. */
import assert from 'node:assert/strict';
import type { Item } from '../../protocol/items.ts';
import {
  collectEvents,
  collectWhole,
  eventsText,
  requestNext,
  type UpstreamCase,
  type UpstreamExtra,
  type UpstreamUnderTest,
  upstreamScript,
} from './upstream-case.ts';
import { eventsToItems } from './upstream-turns.ts';

const { thought, state, calls, messages, citation } = upstreamScript;
const [call] = calls;

/** A case about one play of the scenario that its extra is named after. */
function extra(needs: UpstreamExtra, name: string, run: (subject: UpstreamUnderTest) => Promise<void>): UpstreamCase {
  // The cast: there are as many subjects as plays.
  return { name, needs, plays: [{ scenario: needs }], run: (subject) => run(subject as UpstreamUnderTest) };
}

/** A case about one scenario in one piece and byte by byte, which must give the same events. */
function byteByByte(needs: UpstreamExtra, name: string): UpstreamCase {
  return {
    name,
    needs,
    plays: [{ scenario: needs }, { scenario: needs, split: 'byte' }],
    async run(...subjects) {
      const [whole, pieces] = await Promise.all(subjects.map(collectWhole));
      assert.deepEqual(pieces?.events, whole?.events);
    },
  };
}

/** The request that follows an answer, as the server receives it. */
async function requestAfter(subject: UpstreamUnderTest, items: readonly Item[]): Promise<string> {
  const { error } = await collectEvents(requestNext(subject, items));
  if (error !== undefined) throw error;
  return JSON.stringify(subject.server.requests.at(-1));
}

/** Asserts that the first text is in the request once, and the others after it, in this order. */
function assertInOrder(request: string, texts: readonly [string, ...string[]]): void {
  const [first] = texts;
  assert.equal(request.split(first).length - 1, 1, `${first} stands once in ${request}`);
  const places = texts.map((text) => request.indexOf(text));
  assert.ok(!places.includes(-1), `${texts} stand in ${request}`);
  const ordered = places.toSorted((one, other) => one - other);
  assert.deepEqual(places, ordered, `${texts} stand in this order in ${request}`);
}

const ANSWER: Item = { type: 'function_call_output', call_id: call.id, output: 'It is calm.' };
const FOREIGN = 'bm90IG9mIHRoaXMgc2VydmVy';

const states: readonly UpstreamCase[] = [
  extra('state', '[X-07] [S-08] sends a thought back in its place, with its provider state', async (subject) => {
    const { events } = await collectWhole(subject);
    assert.equal(events.map((event) => (event.type === 'reasoning-delta' ? event.text : '')).join(''), thought);
    const request = await requestAfter(subject, [...eventsToItems(events), ANSWER]);
    assertInOrder(request, [state, call.id, 'It is calm.']);
  }),
  extra('state', '[X-07] [S-08] sends back no thought that another upstream wrote', async (subject) => {
    const foreign: Item = { type: 'reasoning', summary: [], encrypted_content: FOREIGN };
    const request = await requestAfter(subject, [foreign, { type: 'message', role: 'assistant', content: 'Calm.' }]);
    assert.ok(!request.includes(FOREIGN), `${request} contains what another server wrote`);
  }),
  byteByByte('state', '[P-08] [X-07] emits the same thought byte by byte'),
];

const phases: readonly UpstreamCase[] = [
  extra('phase', '[X-07] [V-05] keeps messages apart, each in its phase', async (subject) => {
    const received = eventsToItems((await collectWhole(subject)).events).map(({ phase, content: text }) => ({
      phase,
      text,
    }));
    assert.deepEqual(received, messages);
  }),
  extra('phase', '[X-07] [V-05] sends messages back apart, each in its phase', async (subject) => {
    const { events } = await collectWhole(subject);
    const request = await requestAfter(subject, eventsToItems(events));
    const [first, second] = messages;
    assertInOrder(request, [first.text, second.text]);
    for (const { phase } of messages) assert.ok(request.includes(phase), `${phase} stands in ${request}`);
  }),
  byteByByte('phase', '[P-08] [X-07] emits the same messages byte by byte'),
];

const citations: readonly UpstreamCase[] = [
  extra('citations', '[S-09] [X-07] emits citations with their places in the text', async (subject) => {
    const { events } = await collectWhole(subject);
    const text = eventsText(events);
    const cited = events.flatMap((event) =>
      event.type === 'annotation' && event.annotation.type === 'url_citation' ? [event.annotation] : [],
    );
    const seen = cited.map(({ type, url, title, start_index: start, end_index: end }) => ({
      type,
      url,
      title,
      text: text.slice(start, end),
    }));
    assert.deepEqual(seen, [{ type: 'url_citation', ...citation }]);
  }),
  byteByByte('citations', '[P-08] [X-07] emits the same citations byte by byte'),
];

/** All of these cases. */
export const upstreamExtraCases: readonly UpstreamCase[] = [...states, ...phases, ...citations];
