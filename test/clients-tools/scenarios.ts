/** Talks of two turns over tools that the server runs, and what reaches the model by what the client brings back. */
import { chatStream, type FakeAnswer } from '../../src/testing/index.ts';
import type { Script, Told } from './talk-app.ts';

/** A talk, and what must come of it whatever client holds it. */
export interface Scenario extends Script {
  readonly name: ScenarioName;
  readonly title: string;
  /** The requirements it proves, on either endpoint. */
  readonly rows: { readonly responses: string; readonly chat: string };
  readonly answers: Told['answers'];
  readonly ran: Told['ran'];
}

export type ScenarioName = 'alone' | 'inTurn' | 'together' | 'failing';

/** The conversation in each request to the model, for each scenario. */
export type Asked = Readonly<Record<ScenarioName, Told['asked']>>;

/** A round in which the model says something, calls tools (named, with arguments as JSON text), or both. */
export function round(text: string, ...calls: readonly (readonly [name: string, args: string])[]): FakeAnswer {
  const deltas = calls.map(([name, args], index) => ({
    tool_calls: [{ index, id: `call_${name}`, type: 'function', function: { name, arguments: args } }],
  }));
  return { body: chatStream({ role: 'assistant', content: text }, ...deltas) };
}

const ROME = ['weather', '{"city":"Rome"}'] as const;
const OSLO = ['weather', '{"city":"Oslo"}'] as const;
const ATLANTIS = ['weather', '{"city":"Atlantis"}'] as const;
const CET = ['clock', '{"zone":"CET"}'] as const;

/** The talks that every client must be able to hold. */
export const scenarios: readonly Scenario[] = [
  {
    name: 'alone',
    title: 'the server’s tool in each of two turns',
    rows: { responses: 'Q-02, T-02, T-03', chat: 'Q-02, T-02' },
    bringsClock: false,
    questions: ['How is Rome?', 'And Oslo?'],
    rounds: [round('', ROME), round('It is sunny.'), round('', OSLO), round('Sunny too.')],
    answers: ['It is sunny.', 'Sunny too.'],
    ran: ['server: weather Rome', 'server: weather Oslo'],
  },
  {
    name: 'inTurn',
    title: 'the server’s tool, then the client’s, each with words before it, and a second turn',
    rows: { responses: 'Q-02, T-02, T-03, T-04, B-10', chat: 'Q-02, T-02, T-04, A-29' },
    bringsClock: true,
    questions: ['How is Rome?', 'Thanks.'],
    rounds: [round('Let me look.', ROME), round('Now the time.', CET), round('Sunny at noon.'), round('My pleasure.')],
    answers: ['Sunny at noon.', 'My pleasure.'],
    ran: ['server: weather Rome', 'client: clock CET'],
  },
  {
    name: 'together',
    title: 'a call of the server’s tool beside one of the client’s, and a second turn',
    rows: { responses: 'Q-02, T-03, T-04, B-10', chat: 'Q-02, T-04, A-29' },
    bringsClock: true,
    questions: ['How is Rome?', 'Thanks.'],
    rounds: [round('', ROME, CET), round('Sunny at noon.'), round('My pleasure.')],
    answers: ['Sunny at noon.', 'My pleasure.'],
    ran: ['server: weather Rome', 'client: clock CET'],
  },
  {
    name: 'failing',
    title: 'a tool of the server’s that fails, and a second turn',
    rows: { responses: 'Q-02, T-02, T-03', chat: 'Q-02, T-02' },
    bringsClock: false,
    questions: ['How is Atlantis?', 'Thanks.'],
    rounds: [round('', ATLANTIS), round('There is none.'), round('My pleasure.')],
    answers: ['There is none.', 'My pleasure.'],
    ran: ['server: weather Atlantis'],
  },
];

/** The talk of that name. */
export function scenarioOf(name: ScenarioName): Scenario {
  const found = scenarios.find((scenario) => scenario.name === name);
  if (!found) throw new Error(`There is no talk '${name}'.`);
  return found;
}

const FIRST = 'user: How is Rome?';
const LOST = 'user: How is Atlantis?';
const THANKS = ['assistant: Sunny at noon.', 'user: Thanks.'];
const NO_THANKS = ['assistant: There is none.', 'user: Thanks.'];
const rome = (call: number) => [`assistant: #${call} weather {"city":"Rome"}`, `tool #${call}: Sunny in Rome.`];
const oslo = (call: number) => [`assistant: #${call} weather {"city":"Oslo"}`, `tool #${call}: Sunny in Oslo.`];
const clock = (call: number) => [`assistant: #${call} clock {"zone":"CET"}`, `tool #${call}: Noon in CET.`];
const LOOKED = ['assistant: Let me look. #1 weather {"city":"Rome"}', 'tool #1: Sunny in Rome.'];
const BOTH = [
  'assistant: #1 weather {"city":"Rome"} #2 clock {"zone":"CET"}',
  'tool #1: Sunny in Rome.',
  'tool #2: Noon in CET.',
];
const SUNK = ['assistant: #1 weather {"city":"Atlantis"}', 'tool #1: No such city.'];

/** Requests of which each begins with the whole of the one before. */
function growing(...steps: readonly (readonly string[])[]): Told['asked'] {
  return steps.map((_, index) => steps.slice(0, index + 1).flat());
}

/** The client, or the store for it, brings everything back. */
export const everything: Asked = {
  alone: growing([FIRST], rome(1), ['assistant: It is sunny.', 'user: And Oslo?'], oslo(2)),
  inTurn: growing(
    [FIRST],
    LOOKED,
    ['assistant: Now the time. #2 clock {"zone":"CET"}', 'tool #2: Noon in CET.'],
    THANKS,
  ),
  together: growing([FIRST], BOTH, THANKS),
  failing: growing([LOST], SUNK, NO_THANKS),
};

/** Everything comes back, but without the ids that tell which calls were made side by side. */
export const apart: Asked = { ...everything, together: growing([FIRST], [...rome(1), ...clock(2)], THANKS) };

/** The same from a client that puts items in the order in which they were done: its own call needs no waiting. */
export const asDone: Asked = { ...everything, together: growing([FIRST], [...clock(1), ...rome(2)], THANKS) };

/** The ids are lost with the second question only. */
export const apartLater: Asked = {
  ...everything,
  together: [...growing([FIRST], BOTH), [FIRST, ...rome(1), ...clock(2), ...THANKS]],
};

/** The client drops the server's calls, but for words nothing is left of them. */
export const ownCalls: Asked = {
  alone: [...growing([FIRST], rome(1)), ...growing([FIRST, 'assistant: It is sunny.', 'user: And Oslo?'], oslo(1))],
  inTurn: [
    ...growing([FIRST], LOOKED),
    ...growing(
      [FIRST, 'assistant: Let me look.', 'assistant: Now the time. #1 clock {"zone":"CET"}', 'tool #1: Noon in CET.'],
      THANKS,
    ),
  ],
  together: growing([FIRST], clock(1), THANKS),
  failing: [...growing([LOST], SUNK), [LOST, ...NO_THANKS]],
};

/** The same from a client that keeps all the words of one response as one message. */
export const ownCallsJoined: Asked = {
  ...ownCalls,
  inTurn: [
    ...growing([FIRST], LOOKED),
    ...growing(
      [FIRST, 'assistant: Let me look.Now the time. #1 clock {"zone":"CET"}', 'tool #1: Noon in CET.'],
      THANKS,
    ),
  ],
};

/** The client writes the server's calls behind its own, and those behind the words. */
export const wordsFirst: Asked = {
  alone: [
    ...growing([FIRST], rome(1)),
    ...growing(
      [FIRST, 'assistant: It is sunny. #1 weather {"city":"Rome"}', 'tool #1: Sunny in Rome.', 'user: And Oslo?'],
      oslo(2),
    ),
  ],
  inTurn: [
    ...growing([FIRST], LOOKED),
    ...growing(
      [FIRST, 'assistant: Let me look.Now the time. #1 clock {"zone":"CET"}', 'tool #1: Noon in CET.', ...rome(2)],
      THANKS,
    ),
  ],
  together: asDone.together,
  failing: [
    ...growing([LOST], SUNK),
    [LOST, 'assistant: There is none. #1 weather {"city":"Atlantis"}', 'tool #1: No such city.', 'user: Thanks.'],
  ],
};

/** The Chat wire: calls of the server's come back with those of the client's, a turn without any is its text. */
export const besideOwnCalls: Asked = { ...everything, alone: ownCalls.alone, failing: ownCalls.failing };
