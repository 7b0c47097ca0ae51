/** What a chat request that continues a turn is made of, and what in it is the client's own. */

import { keepResults } from '../../../src/apis/chat-completions/kept-results.ts';
import { prepareChatHistory } from '../../../src/apis/chat-completions/prepare-history.ts';
import { withoutLoadedHistory } from '../../../src/engine/history/own-input.ts';
import type { EndpointRequest } from '../../../src/engine/request/endpoint-request.ts';
import { memoryStore, type ResponseStore } from '../../../src/index.ts';
import { DEFAULT_LIMITS } from '../../../src/ports/limits.ts';
import type { Item } from '../../../src/protocol/items.ts';
import type { Note } from '../../../src/protocol/note.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { endpointRequest } from '../../support/endpoint-request.ts';

const words = (role: string, text: string) => ({ type: 'message', role, content: [{ type: 'input_text', text }] });
const functionCall = (id: string) => ({ type: 'function_call', call_id: id, name: 'add', arguments: '{}' });
const output = (id: string, text: string) => ({ type: 'function_call_output', call_id: id, output: text });
const toolCall = (id: string) => ({ id, type: 'function', function: { name: 'add', arguments: '{}' } });
const asks = (...ids: readonly string[]) => ({ role: 'assistant', content: null, tool_calls: ids.map(toolCall) });
const tool = (id: string, content: unknown) => ({ role: 'tool', tool_call_id: id, content });
const user = (content: string) => ({ role: 'user', content });

/** A store with turns that continue each other: `resp_0`, `resp_1`, … */
function storeOf(...turns: readonly (readonly [input: readonly Item[], output: readonly Item[]])[]): ResponseStore {
  const store = memoryStore();
  for (const [at, [input, output]] of turns.entries()) {
    const previous = at === 0 ? {} : { previousId: `resp_${at - 1}` };
    store.put({ scope: 's', id: `resp_${at}`, ...previous, createdAt: at, input, output, resource: {} });
  }
  return store;
}

/** The messages and the rest of the body afterwards, and what of them is the client's own. */
async function prepared(store: ResponseStore, body: unknown, given: Partial<EndpointRequest> = {}) {
  const notes: Note[] = [];
  const settings = {
    store,
    limits: DEFAULT_LIMITS,
    hooks: { onNote: (note: Note) => void notes.push(note) },
    toolsOf: () => [],
  };
  const call = endpointRequest({ body, ...given });
  const after = await prepareChatHistory(call, settings);
  const { messages, ...rest } = after.body as JsonObject;
  return {
    messages,
    rest,
    own: withoutLoadedHistory(messages, after.context?.history),
    notes,
    context: after.context,
    after,
    call,
  };
}

describe('prepareChatHistory', () => {
  it('[X-02] [S-12] prepends the conversation so far and drops the id, which no model server supports', async () => {
    const store = storeOf(
      [[words('system', 'Be kind.'), words('user', 'A')], [words('assistant', 'B')]],
      [[words('user', 'C')], [words('assistant', 'D')]],
    );
    const body = { model: 'm', temperature: 0, messages: [user('E')], previous_response_id: 'resp_1' };
    const { messages, rest, own, context } = await prepared(store, body);
    expect({ messages, rest, own, previous: context?.history?.previous?.id }).toEqual({
      messages: [
        { role: 'system', content: 'Be kind.' },
        user('A'),
        { role: 'assistant', content: 'B' },
        user('C'),
        { role: 'assistant', content: 'D' },
        user('E'),
      ],
      rest: { model: 'm', temperature: 0 },
      own: [user('E')],
      previous: 'resp_1',
    });
  });

  it('[A-22] leaves the system messages of both the history and the request where they stand', async () => {
    const store = storeOf([[words('system', 'Old.'), words('user', 'A')], [words('assistant', 'B')]]);
    const fresh = { role: 'system', content: 'New.' };
    const { messages } = await prepared(store, { messages: [fresh, user('C')], previous_response_id: 'resp_0' });
    expect(messages).toEqual([
      { role: 'system', content: 'Old.' },
      user('A'),
      { role: 'assistant', content: 'B' },
      fresh,
      user('C'),
    ]);
  });

  it('[A-11] [T-04] lets the tool messages at the start answer the calls of the last turn, and keeps them the client’s', async () => {
    const store = storeOf([[words('user', 'A')], [functionCall('a'), functionCall('b')]]);
    const body = { messages: [tool('b', '2'), tool('a', '1'), user('So?')], previous_response_id: 'resp_0' };
    const { messages, own } = await prepared(store, body);
    expect({ messages, own }).toEqual({
      messages: [user('A'), asks('a', 'b'), tool('a', '1'), tool('b', '2'), user('So?')],
      own: [tool('a', '1'), tool('b', '2'), user('So?')],
    });
  });

  it('[S-12] knows the client’s answer from an earlier one to a call of the same id', async () => {
    const store = storeOf(
      [[words('user', 'A')], [functionCall('call_0')]],
      [[output('call_0', 'old')], [functionCall('call_0')]],
    );
    const body = { messages: [tool('call_0', 'new')], previous_response_id: 'resp_1' };
    const { messages, own } = await prepared(store, body);
    expect({ messages, own }).toEqual({
      messages: [user('A'), asks('call_0'), tool('call_0', 'old'), asks('call_0'), tool('call_0', 'new')],
      own: [tool('call_0', 'new')],
    });
  });

  it('[T-04] puts the result of a call that the server ran beside the client’s, and keeps only that the client’s', async () => {
    const ran = { type: 'mcp_call', id: 'mcp_1', call_id: 'x', name: 'clock', arguments: '{}', output: '12:00' };
    const store = storeOf([[words('user', 'A')], [ran, functionCall('a')]]);
    const { messages, own } = await prepared(store, { messages: [tool('a', '1')], previous_response_id: 'resp_0' });
    expect({ messages, own }).toEqual({
      messages: [
        user('A'),
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'x', type: 'function', function: { name: 'clock', arguments: '{}' } }, toolCall('a')],
        },
        tool('x', '12:00'),
        tool('a', '1'),
      ],
      own: [tool('a', '1')],
    });
  });

  it('[T-04] brings back the calls that the server ran for a client that continues nothing', async () => {
    const store = memoryStore();
    const clients = [{ id: 'a', name: 'add', arguments: '{}', owned: false }];
    const answered = [{ call: { id: 'x', name: 'clock', arguments: '{}', owned: true }, output: '12:00' }];
    const settings = { store, onStoreError: 'fail', hooks: {} } as const;
    const round = { messages: [user('A')], before: [], text: '', clients, answered };
    await keepResults(settings, { scope: 's', requestId: 'r' }, round);
    const body = { messages: [user('A'), asks('a'), tool('a', '1')] };
    const restored = {
      ...asks('a'),
      tool_calls: [{ id: 'x', type: 'function', function: { name: 'clock', arguments: '{}' } }, toolCall('a')],
    };
    const messages = [user('A'), restored, tool('x', '12:00'), tool('a', '1')];
    const { own, ...mine } = await prepared(store, body);
    const others = await prepared(store, body, { scope: 'other' });
    // Nothing was put in front: all of it is what the client stands for.
    expect([mine.messages, own, others.messages]).toEqual([messages, messages, body.messages]);
  });

  it('[S-12] [P-13] answers the same 400 for an id that is missing, another scope’s, or no response’s', async () => {
    const store = storeOf([[words('user', 'A')], [words('assistant', 'B')]]);
    const refused = async (id: string, scope = 's') => {
      const body = { messages: [user('C')], previous_response_id: id };
      const { code, status, param } = (await prepared(store, body, { scope }).catch((error) => error)) as JsonObject;
      return { code, status, param };
    };
    const missing = { code: 'previous_response_not_found', status: 400, param: 'previous_response_id' };
    expect(await Promise.all([refused('resp_9'), refused('resp_0', 'other'), refused('chat_a')])).toEqual([
      missing,
      missing,
      missing,
    ]);
  });

  it('[P-06] refuses to continue a turn whose calls the client leaves unanswered', async () => {
    const store = storeOf([[words('user', 'A')], [functionCall('a')]]);
    const body = { messages: [user('Never mind.')], previous_response_id: 'resp_0' };
    await expect(prepared(store, body)).rejects.toMatchObject({ code: 'tool_output_missing', status: 400 });
  });

  it('[S-03] notes items of the history that have no place in messages', async () => {
    const store = storeOf([[words('user', 'A'), { type: 'web_search_call', id: 'ws_1' }], [words('assistant', 'B')]]);
    const { messages, notes } = await prepared(store, { messages: [user('C')], previous_response_id: 'resp_0' });
    expect({ messages, codes: notes.map(({ code }) => code) }).toEqual({
      messages: [user('A'), { role: 'assistant', content: 'B' }, user('C')],
      codes: ['item_skipped'],
    });
  });

  it('[X-02] leaves alone what has its history already, and what is no list of messages', async () => {
    const store = memoryStore();
    const done = { context: { history: { previous: undefined, loaded: [] } } };
    const bodies = [undefined, 'x', { messages: 'x' }, { messages: [7] }];
    const untouched = await Promise.all([
      ...bodies.map((body) => prepared(store, body ?? {})),
      prepared(store, { messages: [user('A')], previous_response_id: 'resp_9' }, done),
    ]);
    expect(untouched.map(({ after, call }) => after === call)).toEqual(untouched.map(() => true));
  });
});
