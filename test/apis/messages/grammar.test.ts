/** The grammar of the stream for any turn, and that the JSON answer is the same message. */
import fc from 'fast-check';
import { MessagesEncoder, PING } from '../../../src/apis/messages/encoder.ts';
import { type MessageFacts, messageReply } from '../../../src/apis/messages/message.ts';
import { step } from '../../../src/engine/turn/machine/machine.ts';
import { startState, type TurnPlan } from '../../../src/engine/turn/machine/state.ts';
import type { TurnEnd, TurnEvent, TurnInput } from '../../../src/protocol/events.ts';
import { anyPlan, inputs } from '../../engine/turn/arbitrary-turns.ts';
import { DEFAULT_PLAN, END } from '../../engine/turn/whole-turn.ts';
import { messageOf } from './accumulate.ts';
import type { StreamEvent } from './messages-app.ts';

const RUNS = { numRuns: 300 };
const VISIBLE = ['message', 'reasoning', 'function_call'];
const SERVERS = ['mcp_call', 'web_search_call', 'code_interpreter_call'];

function factsWith(shown: readonly string[], omits = false): MessageFacts {
  return {
    id: 'msg_1',
    model: 'm',
    stopSequences: new Set(),
    isShown: ({ type }) => shown.includes(type),
    sealHidden: (output) => (output.some(({ type }) => type === 'mcp_call') ? 'sealed' : undefined),
    showsThoughts: !omits,
    sealThought: ({ summary, content }) => JSON.stringify([summary, content]),
  };
}

function turnOf(plan: TurnPlan, given: readonly TurnInput[]): readonly TurnEvent[] {
  const events: TurnEvent[] = [];
  let state = startState({ ...plan, ownedAs: 'mcp_call' });
  for (const input of [...given, END]) {
    if (state.ended) break;
    const [next, more] = step(state, [input]);
    state = next;
    events.push(...more);
  }
  return events;
}

function endOf(events: readonly TurnEvent[]): TurnEnd {
  // The cast: a turn ends with it.
  return events.at(-1) as TurnEnd;
}

function encoded(events: readonly TurnEvent[], facts: MessageFacts): readonly StreamEvent[] {
  const encoder = new MessagesEncoder(facts, ({ message }) => ({ type: 'error', error: { message } }));
  return encoder.encode(events);
}

const sets = fc.constantFrom(VISIBLE, [...VISIBLE, ...SERVERS]);

it('[X-12] holds for any turn, and holds what the JSON answer holds', () => {
  fc.assert(
    fc.property(anyPlan, inputs, sets, fc.boolean(), (plan, given, shown, omits) => {
      const facts = factsWith(shown, omits);
      const events = turnOf(plan, given);
      const message = messageOf(encoded(events, facts));
      const end = endOf(events);
      if (end.status === 'failed') expect(message).toBeUndefined();
      else expect(message).toEqual(JSON.parse(String(messageReply(end, facts).body)));
    }),
    RUNS,
  );
});

it.each([
  ['which is all there is', []],
  ['and text after it', ['It ', 'is so.']],
])('[X-12] cites after white space, %s', (_name, texts) => {
  const annotation = {
    type: 'url_citation' as const,
    url: 'https://a.example',
    title: 'A',
    start_index: 0,
    end_index: 0,
  };
  const events = turnOf(DEFAULT_PLAN, [
    { type: 'start' },
    { type: 'text-delta', text: '\n' },
    { type: 'text-delta', text: ' ' },
    { type: 'annotation', annotation },
    ...texts.map((text) => ({ type: 'text-delta' as const, text })),
  ]);
  const facts = factsWith(VISIBLE);
  const message = messageOf(encoded(events, facts));
  expect(message).toMatchObject({
    content: [{ type: 'text', text: `\n ${texts.join('')}`, citations: [{ title: 'A' }] }],
  });
  expect(message).toEqual(JSON.parse(String(messageReply(endOf(events), facts).body)));
});

it('[X-12] is the same however the events are batched', () => {
  fc.assert(
    fc.property(anyPlan, inputs, (plan, given) => {
      const facts = factsWith(VISIBLE);
      const events = turnOf(plan, given);
      const encoder = new MessagesEncoder(facts, () => ({ type: 'error' }));
      const singly = events.flatMap((event) => encoder.encode([event]));
      expect(singly).toEqual(new MessagesEncoder(facts, () => ({ type: 'error' })).encode(events));
    }),
    RUNS,
  );
});

it('[X-12] fills idle time with pings', () => {
  const encoder = new MessagesEncoder(factsWith(VISIBLE), () => ({ type: 'error' }));
  expect(encoder.encode([{ type: 'heartbeat' }, { type: 'keepalive', sequence: 1 }])).toEqual([PING, PING]);
});
