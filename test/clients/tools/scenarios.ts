/** Talks of two turns over tools that the server runs, and what must come of them. */
import { chatStream, type FakeAnswer } from '../../../src/testing/index.ts';
import type { Reported, Script } from './talk-app.ts';

/** A talk, and what must come of it whatever client holds it. */
export interface Scenario extends Script {
  readonly name: ScenarioName;
  readonly title: string;
  /** The requirements it proves, on either endpoint. */
  readonly rows: { readonly responses: string; readonly chat: string };
  readonly answers: Reported['answers'];
  readonly ran: Reported['ran'];
}

export type ScenarioName = 'alone' | 'inTurn' | 'together' | 'failing';

/** A round in which the model says something, calls tools (named, with arguments as JSON text), or both. */
function round(text: string, ...calls: readonly (readonly [name: string, args: string])[]): FakeAnswer {
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
