/** The laws of dialects over arbitrary answers of a model: what they send is the default's, but for what is documented. */

import fc from 'fast-check';
import { openResponses } from '../../../src/core.ts';
import { memoryStore, type Upstream } from '../../../src/index.ts';
import type { DialectName } from '../../../src/ports/dialect.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { expectWireLaws, readWire } from '../../support/wire-laws.ts';
import { CLIENT_TOOLS, SERVER_TOOLS } from './scenarios.ts';
import { type Event, eventsOf, NAMES, withoutIdentity } from './support.ts';

type ModelEvent = Parameters<typeof written>[0][number];

/** A model that says the batches, and when its calls have been run "Done.". */
function written(
  batches: Upstream['stream'] extends (...args: never[]) => AsyncIterable<infer Batch> ? Batch : never,
): Upstream {
  return {
    name: 'scripted',
    async *stream({ items }) {
      const isNext = items.at(-1)?.type !== 'message';
      for (const event of isNext ? DONE : batches) yield [event];
    },
  };
}

const DONE: readonly ModelEvent[] = [
  { type: 'text-delta', text: 'Done.' },
  { type: 'finish', reason: 'stop' },
];

const text = fc.string({ unit: fc.constantFrom('a', ' ', '\n', '\n\n', 'data: ', '"', '中', '😀'), maxLength: 6 });
const event: fc.Arbitrary<ModelEvent> = fc.oneof(
  fc.record({ type: fc.constant('text-delta' as const), text }),
  fc.record({ type: fc.constant('reasoning-delta' as const), text }),
  fc.record({ type: fc.constant('refusal-delta' as const), text }),
  fc
    .record({
      call: fc.nat(3),
      name: fc.constantFrom('look', 'write', 'read', 'fall', 'odd'),
      isNamed: fc.boolean(),
      text,
    })
    .map(({ call, name, isNamed, text }) => {
      const id = isNamed ? { id: `call_${call}` } : {};
      return { type: 'tool-call-delta' as const, call, name, arguments: text, ...id };
    }),
);
const answer = fc
  .tuple(fc.array(event, { maxLength: 12 }), fc.constantFrom('stop' as const, 'length' as const))
  .map(([events, reason]): readonly ModelEvent[] => [...events, { type: 'finish', reason }]);
const RUNS = { numRuns: 60 };

/** What one dialect says of an answer: as a stream, as JSON, and when it is retrieved. */
interface Reported {
  readonly writes: readonly string[];
  readonly events: readonly Event[];
  readonly streamed: JsonObject;
  readonly json: JsonObject;
  readonly kept: JsonObject;
}

async function reportedIn(dialect: DialectName, events: readonly ModelEvent[], shownAs: 'mcp_call' | 'function_call') {
  const shown = { show: { toolCalls: shownAs, reasoning: 'text' }, heartbeat: false } as const;
  const handler = openResponses({
    upstream: written(events),
    store: memoryStore(),
    tools: SERVER_TOOLS,
    dialect,
    ...shown,
  }).fetch;
  const create = (body: JsonObject) => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' } };
    const requested = { model: 'm', input: 'Go.', tools: CLIENT_TOOLS, ...body };
    return handler(new Request('http://host/responses', { ...init, body: JSON.stringify(requested) }));
  };
  const writes = await piecesOf(await create({ stream: true }));
  const spoken = eventsOf(writes.join(''));
  const json = await (await create({})).text();
  const { id } = JSON.parse(json);
  const kept = await (await handler(new Request(`http://host/responses/${id}`))).text();
  const streamed = JSON.stringify(spoken.at(-1)?.response);
  const [one, two, three] = [streamed, json, kept].map((body) => JSON.parse(withoutIdentity(body)));
  const reported: Reported = { writes, events: spoken, streamed: one, json: two, kept: three };
  return reported;
}

async function piecesOf({ body }: Response): Promise<readonly string[]> {
  const pieces: string[] = [];
  const decoder = new TextDecoder();
  for await (const piece of body ?? []) pieces.push(decoder.decode(piece));
  return pieces;
}

/** The response without what its dialect is documented to change. */
const UNDONE: Readonly<Record<DialectName, (response: JsonObject) => JsonObject>> = {
  openai: (response) => response,
  'vllm-responses': (response) => response,
  'open-responses-server': (response) => ({ ...response, output: itemsOf(response).map(unspelled) }),
  tokligence({ required_action, ...response }) {
    if (!required_action) return response;
    return { ...response, status: 'completed', completed_at: 0, incomplete_details: null };
  },
};

function itemsOf({ output }: JsonObject): readonly JsonObject[] {
  return output as readonly JsonObject[];
}

function unspelled(item: JsonObject): JsonObject {
  if (item.status === 'ready') return { ...item, status: 'completed' };
  if (item.type !== 'function_call_output') return item;
  const texts: readonly string[] = JSON.parse(String(item.output));
  const parts = texts.map((text) => ({ type: 'input_text', text }));
  return { ...item, output: texts.length === 1 ? texts[0] : parts };
}

/** The text deltas of each item; results that are sent as text are no words of the assistant's. */
function wordsOf(events: readonly Event[]): readonly string[] {
  const words = new Map<unknown, string>();
  for (const { type, item_id: id, delta } of events) {
    if (type === 'response.output_text.delta' && !String(id).startsWith('fco_'))
      words.set(id, (words.get(id) ?? '') + delta);
  }
  return [...words.values()];
}

describe.each(NAMES)('any answer in the dialect %s', (dialect) => {
  // Lists of tools, which it leaves out, move all places of an output.
  const forms = dialect === 'vllm-responses' ? (['function_call'] as const) : (['mcp_call', 'function_call'] as const);
  const form = fc.constantFrom(...forms);

  it('[P-01, M-06] is the default’s, but for what is documented', () =>
    fc.assert(
      fc.asyncProperty(answer, form, async (events, shownAs) => {
        const usual = await reportedIn('openai', events, shownAs);
        expectWireLaws(readWire(usual.writes.join('')));
        const reported = await reportedIn(dialect, events, shownAs);
        expect(UNDONE[dialect](reported.streamed)).toEqual(usual.streamed);
        expect(wordsOf(reported.events)).toEqual(wordsOf(usual.events));
      }),
      RUNS,
    ));

  it('[M-19] is the same as a stream, as JSON and when it is retrieved', () =>
    fc.assert(
      fc.asyncProperty(answer, form, async (events, shownAs) => {
        const { streamed, json, kept } = await reportedIn(dialect, events, shownAs);
        expect([json, kept]).toEqual([streamed, streamed]);
      }),
      RUNS,
    ));

  it('[P-01, M-12] comes in writes of whole frames, numbered without gaps', () =>
    fc.assert(
      fc.asyncProperty(answer, form, async (events, shownAs) => {
        const reported = await reportedIn(dialect, events, shownAs);
        const numbers = reported.events.map(({ sequence_number: number }) => number);
        expect(numbers).toEqual(reported.events.map((_, index) => index));
        const frame = /^(event: \S+\ndata: \{[^\n]*\}\n\n)*(data: \[DONE\]\n\n)?$/;
        expect(reported.writes.filter((write) => !frame.test(write))).toEqual([]);
      }),
      RUNS,
    ));
});
