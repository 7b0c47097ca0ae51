/** What is kept for a client that cannot bring it along, and how it comes back. */
import { type ChatRound, keepResults, restoreResults } from '../../../src/apis/chat-completions/kept-results.ts';
import { memoryStore, type ResponseStore } from '../../../src/index.ts';

const OURS = { id: 'a', name: 'ours', owned: true, arguments: '{}' };
const THEIRS = { id: 'b', name: 'theirs', owned: false, arguments: '{"x":1}' };
const ROUND: ChatRound = {
  messages: [],
  before: [],
  text: 'Both.',
  clients: [THEIRS],
  answered: [{ call: OURS, output: 'ok' }],
};
const WIRED = { id: 'b', type: 'function', function: { name: 'theirs', arguments: '{"x":1}' } };
const WRITTEN = { role: 'assistant', content: 'Both.', tool_calls: [WIRED] };
const OURS_WIRED = { id: 'a', type: 'function', function: { name: 'ours', arguments: '{}' } };
const RESULT = { role: 'tool', tool_call_id: 'a', content: 'ok' };

function settings(store: ResponseStore = memoryStore()) {
  return { store, onStoreError: 'fail', hooks: {} } as const;
}

async function kept(round: Partial<ChatRound> = {}, store: ResponseStore = memoryStore()): Promise<ResponseStore> {
  await keepResults(settings(store), { scope: 's', requestId: 'r' }, { ...ROUND, ...round });
  return store;
}

it('[T-04] comes back in front of the calls that the client answers', async () => {
  const asked = { role: 'user', content: 'Hi' };
  const store = await kept({ messages: [asked] });
  const messages = [asked, WRITTEN, { role: 'tool', tool_call_id: 'b', content: 'mine' }];
  expect(await restoreResults({ store, scope: 's', maxBytes: 1e6, maxRounds: 10 }, messages)).toEqual([
    asked,
    { ...WRITTEN, tool_calls: [OURS_WIRED, WIRED] },
    RESULT,
    messages[2],
  ]);
});

it('[T-04] comes back with the rounds before it, and the text is cut to the one that is its own', async () => {
  const before = [{ role: 'assistant', content: 'First. ', tool_calls: [OURS_WIRED] }, RESULT];
  const store = await kept({ before, answered: [] });
  const whole = { ...WRITTEN, content: 'First. Both.' };
  const other = { ...WRITTEN, content: 'Something else.' };
  expect([
    await restoreResults({ store, scope: 's', maxBytes: 1e6, maxRounds: 10 }, [whole]),
    await restoreResults({ store, scope: 's', maxBytes: 1e6, maxRounds: 10 }, [other]),
  ]).toEqual([
    [...before, { ...WRITTEN, content: 'Both.' }],
    [...before, other],
  ]);
});

it('[T-04] comes back with citations that stand where the newest round has them, behind a round that has none', async () => {
  const cited = (from: number) => ({ type: 'url_citation', url_citation: { start_index: from, end_index: from + 2 } });
  const before = [{ role: 'assistant', content: 'First. ', tool_calls: [OURS_WIRED] }, RESULT];
  const rounds = { store: await kept({ before, answered: [] }), scope: 's', maxBytes: 1e6, maxRounds: 10 };
  const whole = { ...WRITTEN, content: 'First. Both.', annotations: [cited(7)] };
  const [, , own] = await restoreResults(rounds, [whole]);
  expect(own).toEqual({ ...WRITTEN, content: 'Both.', annotations: [cited(0)] });
});

it('[T-04] comes back with the reasoning and the citations of each round in its own message, also as guards have changed them', async () => {
  const cited = (from: number) => ({
    type: 'url_citation',
    url_citation: { url: 'u', start_index: from, end_index: from + 2 },
  });
  const about = { reasoning_content: 'Ask bob. ', annotations: [cited(0)] };
  const before = [{ role: 'assistant', content: 'First. ', tool_calls: [OURS_WIRED], ...about }, RESULT];
  const store = await kept({ before, answered: [] });
  const guarded = async (text: string) => text.replaceAll('bob', '[NAME]');
  const restored = async (fields: object) => {
    const rounds = { store, scope: 's', maxBytes: 1e6, maxRounds: 10, guarded };
    const [, , own] = await restoreResults(rounds, [{ ...WRITTEN, content: 'First. Both.', ...fields }]);
    return own;
  };
  const own = { ...WRITTEN, content: 'Both.' };
  const annotations = [cited(0), cited(7)];
  expect([
    await restored({ reasoning_content: 'Ask bob. Then go.', annotations }),
    await restored({ reasoning_content: 'Ask [NAME]. Then go.' }),
    await restored({ reasoning_content: 'Ask bob. ', annotations: [cited(0)] }),
    await restored({ reasoning_content: 'Something else.' }),
  ]).toEqual([
    { ...own, reasoning_content: 'Then go.', annotations: [cited(0)] },
    { ...own, reasoning_content: 'Then go.' },
    own,
    { ...own, reasoning_content: 'Something else.' },
  ]);
});

it('[T-04] comes back if the last round had no text of its own', async () => {
  const before = [{ role: 'assistant', content: 'First. ', tool_calls: [OURS_WIRED] }, RESULT];
  const store = await kept({ before, answered: [], text: '' });
  const [, , written] = await restoreResults({ store, scope: 's', maxBytes: 1e6, maxRounds: 10 }, [
    { ...WRITTEN, content: 'First. ' },
  ]);
  expect(written).toEqual({ ...WRITTEN, content: null });
});

it.each([
  ['its scope is another', 'other', WRITTEN],
  ['the id is another', 's', { ...WRITTEN, tool_calls: [{ ...WIRED, id: 'c' }] }],
  ['the name is another', 's', { ...WRITTEN, tool_calls: [{ ...WIRED, function: { ...WIRED.function, name: 'c' } }] }],
  [
    'the arguments are others',
    's',
    { ...WRITTEN, tool_calls: [{ ...WIRED, function: { name: 'theirs', arguments: '{}' } }] },
  ],
  ['there are more calls', 's', { ...WRITTEN, tool_calls: [WIRED, { ...WIRED, id: 'c' }] }],
  ['the message is the user’s', 's', { ...WRITTEN, role: 'user' }],
  ['the calls are not a list', 's', { ...WRITTEN, tool_calls: 'b' }],
  ['the calls have no ids', 's', { ...WRITTEN, tool_calls: [{ type: 'function' }, null] }],
])('[T-04] [P-14] stays where %s', async (_, scope, message) => {
  expect(await restoreResults({ store: await kept(), scope, maxBytes: 1e6, maxRounds: 10 }, [message])).toEqual([
    message,
  ]);
});

it('[T-04] distinguishes calls whose arguments are not JSON', async () => {
  const store = await kept({ clients: [{ ...THEIRS, arguments: '{"x"' }] });
  const wired = (json: string) => ({
    ...WRITTEN,
    tool_calls: [{ ...WIRED, function: { name: 'theirs', arguments: json } }],
  });
  const found = await Promise.all(
    ['{"x"', '{"y"'].map((json) => restoreResults({ store, scope: 's', maxBytes: 1e6, maxRounds: 10 }, [wired(json)])),
  );
  expect(found.map(({ length }) => length)).toEqual([2, 1]);
});

it('[T-04] is none of what other features keep under the same id', async () => {
  const store = memoryStore();
  const item = { type: 'message', id: 'm', role: 'assistant', content: [] };
  store.put({ scope: 's', id: 'chat_b', createdAt: 0, input: [], output: [item], resource: {} });
  expect(await restoreResults({ store, scope: 's', maxBytes: 1e6, maxRounds: 10 }, [WRITTEN])).toEqual([WRITTEN]);
});

it('[F-05] [T-04] is looked for once under each id, and for the newest messages alone', async () => {
  const requested: string[] = [];
  const store = await kept();
  const watched = {
    ...store,
    get: (key: { readonly scope: string; readonly id: string }) => {
      requested.push(key.id);
      return store.get(key);
    },
  };
  const others = Array.from({ length: 100 }, (_, index) => ({
    ...WRITTEN,
    tool_calls: [{ ...WIRED, id: `o${index}` }],
  }));
  const repeated = Array.from({ length: 100 }, () => WRITTEN);
  const found = await restoreResults({ store: watched, scope: 's', maxBytes: 1e6, maxRounds: 3 }, [
    ...others,
    ...repeated,
  ]);
  expect([requested.toSorted(), found.length]).toEqual([['chat_b', 'chat_o98', 'chat_o99'], 100 + 2 * 100]);
});

const question = (...texts: readonly string[]) => ({
  role: 'user',
  content: texts.map((text) => ({ type: 'text', text })),
});

it.each([
  ['call_0', [question('Hi, ', 'you')], true],
  [
    'call_0',
    [
      { role: 'system', content: 'It is noon.' },
      { role: 'user', content: 'Hi,\nyou' },
    ],
    true,
  ],
  ['call_0', [question('Hi, you'), question('there')], false],
  ['call_0', [{ role: 'user', content: 'Hello' }], false],
  ['functions.theirs:0', [{ role: 'user', content: 'Hello' }], false],
  ['call_theirs', [{ role: 'user', content: 'Hello' }], false],
  ['functions.search.documents:0', [question('Hi, ', 'you')], true, 'search.documents'],
  ['call_k3J9x0Qz', [{ role: 'user', content: 'Hello' }], true],
  ['D681PevKs', [{ role: 'user', content: 'Hello' }], true],
  ['call_0f3b2c1d-6a', [], true],
])(
  '[T-04] [P-13] finds the round of the call %s where the user has said %j: %s',
  async (id, messages, isFound, name = 'theirs') => {
    const store = await kept({
      messages: [{ role: 'system', content: 'It is ten.' }, question('Hi, you')],
      clients: [{ ...THEIRS, id, name }],
    });
    const written = { ...WRITTEN, tool_calls: [{ ...WIRED, id, function: { ...WIRED.function, name } }] };
    const rounds = { store, scope: 's', maxBytes: 1e6, maxRounds: 10 };
    const together = await restoreResults(rounds, [...messages, written]);
    const behind = await restoreResults(rounds, [written], messages);
    expect([together.length - messages.length, behind.length]).toEqual(isFound ? [2, 2] : [1, 1]);
  },
);

it('[T-04] is an error where the store fails, in either direction', async () => {
  const broken = { ...memoryStore(), get: fail, put: fail };
  await expect(kept({}, broken)).rejects.toMatchObject({ code: 'store_error', status: 500 });
  await expect(
    restoreResults({ store: broken, scope: 's', maxBytes: 1e6, maxRounds: 10 }, [WRITTEN]),
  ).rejects.toMatchObject({
    code: 'store_error',
    status: 500,
  });
});

function fail(): never {
  throw new Error('disk full');
}
