/** What each kind of model server receives of a conversation that the client keeps itself, so that its items have no ids. */
import { toChatMessages } from '../../src/protocol/chat-completions/messages.ts';
import { randomSeed } from '../../src/protocol/ids.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { inputItems } from '../../src/protocol/responses/input-items.ts';
import { toConversation } from '../../src/upstreams/anthropic/messages.ts';
import { toInput } from '../../src/upstreams/responses-input/input.ts';

const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'look', arguments: '{}' });
const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: `seen ${id}` });
const says = (text: string) => ({ role: 'assistant', content: text });

/** Two calls at once, then one that knows their results, then words that know all of them. */
const ROUNDS = [
  { role: 'user', content: 'Look.' },
  call('a'),
  call('b'),
  output('b'),
  output('a'),
  call('c'),
  output('c'),
  says('All seen.'),
  { role: 'user', content: 'And now?' },
];

const ORDER = ['user', 'call a', 'call b', 'result a', 'result b', 'call c', 'result c', 'assistant', 'user'];

function requestOf(input: readonly JsonObject[]) {
  return { model: 'm', items: inputItems(input, randomSeed()), tools: [] };
}

const skipped = (item: unknown) => expect(item).toBeUndefined();
// The casts, here and below: each API writes these fields.
const chatOrder = ({ role, tool_calls: calls, tool_call_id: id }: JsonObject) =>
  calls ? (calls as { id: string }[]).map((each) => `call ${each.id}`) : id ? [`result ${id}`] : [role];

describe('a conversation without ids', () => {
  it('[X-07] [T-02] keeps its rounds apart for a Chat Completions server', () => {
    const options = { systemMessages: 'keep', developerRole: 'system', reasoningReplay: true } as const;
    expect(toChatMessages(requestOf(ROUNDS), options, skipped).flatMap(chatOrder)).toEqual(ORDER);
  });

  it('[X-07] [T-02] keeps its rounds apart for a Responses server', () => {
    const order = toInput(requestOf(ROUNDS), skipped).map(({ type, role, call_id: id }) =>
      type === 'message' ? role : `${type === 'function_call' ? 'call' : 'result'} ${id}`,
    );
    expect(order).toEqual(ORDER);
  });

  it("[X-07] [T-02] keeps its rounds apart for Anthropic's API, and words behind the results that they know", () => {
    const { messages } = toConversation(requestOf(ROUNDS), skipped);
    const order = messages.map(({ role, content }) => [
      role,
      ...content.map(({ type, id, tool_use_id: of, text }) => `${type} ${id ?? of ?? text}`),
    ]);
    expect(order).toEqual([
      ['user', 'text Look.'],
      ['assistant', 'tool_use a', 'tool_use b'],
      ['user', 'tool_result a', 'tool_result b'],
      ['assistant', 'tool_use c'],
      ['user', 'tool_result c'],
      ['assistant', 'text All seen.'],
      ['user', 'text And now?'],
    ]);
  });

  it("[X-07] keeps words of the same round beside its calls for Anthropic's API", () => {
    const round = [says('First.'), call('a'), says('Then.'), call('b'), output('a'), output('b')];
    const { messages } = toConversation(requestOf(round), skipped);
    expect(messages.map(({ content }) => content.map(({ type }) => type))).toEqual([
      ['text', 'tool_use', 'text', 'tool_use'],
      ['tool_result', 'tool_result'],
    ]);
  });
});
