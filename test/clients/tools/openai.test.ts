/** openai-node, both versions, holds talks in which the server runs tools, on both endpoints. */

import { itHolds } from './it-holds.ts';
import { chatAsks, openaiChat, openaiRunTools } from './openai-chat.ts';
import { asks, type Continuing, openaiResponses, versions } from './openai-responses.ts';
import { besideOwnCalls, everything } from './requested.ts';

/** The names of an object's own fields, typed. */
function namesOf<Name extends string>(named: Readonly<Record<Name, unknown>>): readonly Name[] {
  // The cast: object literals have no fields besides those of their type.
  return Object.keys(named) as Name[];
}

const CONTINUING: readonly (readonly [Continuing, string])[] = [
  ['previous_response_id', 'S-12'],
  ['history', 'D-17'],
];

describe.each(versions)('$version', ({ Client }) => {
  for (const ask of namesOf(asks)) {
    for (const [continuing, rows] of CONTINUING) {
      const way = { title: `${ask}, with ${continuing}`, endpoint: 'responses', rows } as const;
      itHolds(way, openaiResponses(Client, ask, continuing), everything);
    }
  }

  for (const [continuing, rows] of CONTINUING) {
    const way = { title: `with function_call items, with ${continuing}`, endpoint: 'responses', rows } as const;
    const options = { show: { toolCalls: 'function_call' } } as const;
    itHolds({ ...way, options }, openaiResponses(Client, 'responses.stream', continuing), everything);
  }

  for (const ask of namesOf(chatAsks)) {
    itHolds({ title: `chat: ${ask}`, endpoint: 'chat' }, openaiChat(Client, ask), besideOwnCalls);
  }
  for (const stream of [false, true]) {
    const way = { title: `chat: runTools with stream: ${stream}`, endpoint: 'chat' } as const;
    itHolds(way, openaiRunTools(Client, stream), besideOwnCalls);
  }
});
