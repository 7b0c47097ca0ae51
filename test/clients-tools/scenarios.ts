/** Talks of two turns with tools that the server runs, and what must come of them whatever client holds them. */
import { type FakeAnswer, textStream, toolCallStream } from '../../src/testing/index.ts';
import type { Script, Told } from './talk-app.ts';

/**
 * What of the server's calls comes back with the next request: `all`; `all, in rounds of their own` where the client
 * loses which of its calls were made beside one of ours; or `own` where it brings nothing but its own calls.
 */
export type Memory = 'all' | 'apart' | 'own';

/** A talk with its outcome. */
export interface Scenario extends Script {
  readonly title: string;
  /** What comes of it for a client that brings everything back. */
  readonly told: Told;
}

const ROME = ['weather', '{"city":"Rome"}'] as const;
const OSLO = ['weather', '{"city":"Oslo"}'] as const;
const ATLANTIS = ['weather', '{"city":"Atlantis"}'] as const;
const CLOCK_CALL = ['clock', '{"zone":"CET"}'] as const;

function calls(...wanted: readonly (readonly [name: string, args: string])[]): FakeAnswer {
  return { body: toolCallStream(wanted.map(([name, args]) => ({ id: `call_${name}`, name, arguments: args }))) };
}

function says(text: string): FakeAnswer {
  return { body: textStream(text) };
}

const FIRST = 'How is Rome?';
const SECOND = 'And Oslo?';
const RAN_ROME = 'server: weather Rome';
const ASKED_ROME = ['assistant: #1 weather {"city":"Rome"}', 'tool #1: Sunny in Rome.'];

/** The server's tool in both turns. */
export const serversTool: Scenario = {
  title: 'the server’s tool in both turns',
  questions: [FIRST, SECOND],
  bringsClock: false,
  rounds: [calls(ROME), says('It is sunny.'), calls(OSLO), says('Sunny too.')],
  told: {
    answers: ['It is sunny.', 'Sunny too.'],
    ran: [RAN_ROME, 'server: weather Oslo'],
    asked: [],
    shown: [],
  },
};
