/** Anthropic's own web tools: offered by the host, shown as OpenAI shows its own, and given back. */

import { type AnthropicOptions, anthropicUpstream } from 'express-open-responses/upstreams/anthropic';
import { chatCompletionsUpstream, memoryStore, type RouterOptions } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { type FakeAnswer, startFakeUpstream, textStream } from '../../src/testing/index.ts';
import { startApp } from '../support/app.ts';
import { askForJson, askForStream, askOpenai } from '../support/responses-client.ts';
import { describeShared, readShared } from '../support/shared.ts';
import type { WireEvent, WireItem } from '../support/wire-schemas.ts';
import { type MessagesApp, startMessagesApp, streamOf } from './messages-app.ts';
import { block, messagesStream, textBlock, thinkingBlock, toolBlock } from './messages-bytes.ts';
import { expectMessagesRequest, type MessagesRequest } from './messages-schema.ts';

let app: MessagesApp;

async function start(upstream: AnthropicOptions = {}, options: RouterOptions = {}): Promise<void> {
  app = await startMessagesApp(upstream, options);
}

afterEach(() => app.close());

const SEARCH = { type: 'web_search_20250305', name: 'web_search', max_uses: 3 };
const PAGES = [
  {
    type: 'web_search_result',
    url: 'https://a.example/fog',
    title: 'Fog',
    encrypted_content: 'c2VhbGVk',
    page_age: null,
  },
  {
    type: 'web_search_result',
    url: 'https://b.example/',
    title: 'B',
    encrypted_content: 'b3RoZXI=',
    page_age: '1 day',
  },
  {
    type: 'web_search_result',
    url: 'https://a.example/fog',
    title: 'Fog',
    encrypted_content: 'YWdhaW4=',
    page_age: null,
  },
];
const error = (code: string) => ({ type: 'web_search_tool_result_error', error_code: code });
const FETCHED = { type: 'web_fetch_result', url: 'https://a.example/fog', content: { type: 'document' } };

const used = (id: string, input: JsonObject = { query: 'fog' }, name = 'web_search') => ({
  type: 'server_tool_use',
  id: `srvtoolu_${id}`,
  name,
  input,
});
const answer = (id: string, content: unknown = PAGES, type = 'web_search_tool_result') => ({
  type,
  tool_use_id: `srvtoolu_${id}`,
  content,
});

/** The use with its input in pieces, as the wire streams it. */
function useFrames(index: number, { input, ...use }: ReturnType<typeof used>, more: JsonObject = {}): string {
  const json = JSON.stringify(input);
  const pieces = ['', json.slice(0, 5), json.slice(5)];
  const deltas = pieces.map((piece) => ({ type: 'input_json_delta', partial_json: piece }));
  return block(index, { ...use, ...more, input: {} }, ...deltas);
}

const SEARCHED = streamOf(
  messagesStream([textBlock(0, 'Let me look.'), useFrames(1, used('1')), block(2, answer('1')), textBlock(3, 'Fog.')]),
);
const HELLO = streamOf(messagesStream([textBlock(0, 'Hello')]));

/** The bodies that the model server was sent, each of which it would take. */
function sent(): readonly MessagesRequest[] {
  return app.fake.requests.map(({ body }) => expectMessagesRequest(body));
}

/** The events of searches, without ids and numbers. */
function searchEvents(events: readonly WireEvent[]): readonly unknown[] {
  return events.flatMap((event): readonly unknown[] => {
    if ('item' in event && event.item.type === 'web_search_call') return [[event.type, event.item.status]];
    return event.type.startsWith('response.web_search_call') ? [event.type] : [];
  });
}

function unsealed({ encrypted_content: text = '' }: Extract<WireItem, { type: 'web_search_call' }>): unknown {
  return app.unsealed(text);
}

function searchesIn(output: readonly WireItem[]) {
  return output.filter((item) => item.type === 'web_search_call');
}

async function searched(reply: FakeAnswer) {
  app.fake.reply(reply);
  const { response } = await askForStream(app.url);
  return searchesIn(response.output).map((item) => {
    const { id, encrypted_content, ...shown } = item;
    return { ...shown, blocks: encrypted_content === undefined ? undefined : unsealed(item) };
  });
}

describe('a search by the model server', () => {
  const action = { type: 'search', query: 'fog', queries: ['fog'] };
  const sources = ['https://a.example/fog', 'https://b.example/'].map((url) => ({ type: 'url', url }));

  it('[X-07] [S-09] is an item between the messages, with what was asked and found, and the blocks', async () => {
    await start();
    expect(await searched(SEARCHED)).toEqual([
      {
        type: 'web_search_call',
        status: 'completed',
        action: { ...action, sources },
        blocks: [used('1'), answer('1')],
      },
    ]);
  });

  it('[X-07] [P-02] is reported as OpenAI reports it, from beginning to end', async () => {
    await start();
    app.fake.reply(SEARCHED);
    const { events, response } = await askForStream(app.url);
    expect([searchEvents(events), response.output.map(({ type }) => type)]).toEqual([
      [
        ['response.output_item.added', 'in_progress'],
        'response.web_search_call.in_progress',
        'response.web_search_call.searching',
        'response.web_search_call.completed',
        ['response.output_item.done', 'completed'],
      ],
      ['message', 'web_search_call', 'message'],
    ]);
  });

  it.each<readonly [string, FakeAnswer]>([
    ['one search', SEARCHED],
    ['a failed one', streamOf(messagesStream([useFrames(0, used('1')), block(1, answer('1', error('unavailable')))]))],
  ])('[X-07] [P-01] is taken by openai-node: %s', async (_what, reply) => {
    await start();
    app.fake.reply(reply);
    const { final, reported } = await askOpenai(app.url);
    expect(final).toEqual(reported);
  });

  it('[X-07] keeps the place of citations in the text that follows it', async () => {
    await start();
    const cited = { type: 'web_search_result_location', url: 'https://a.example/fog', title: 'Fog' };
    const text = block(
      3,
      { type: 'text', text: '', citations: [] },
      { type: 'citations_delta', citation: cited },
      { type: 'text_delta', text: 'Fog.' },
    );
    const before = [textBlock(0, 'Let me look.'), useFrames(1, used('1')), block(2, answer('1'))];
    app.fake.reply(streamOf(messagesStream([...before, text])));
    const { output } = (await askForStream(app.url)).response;
    const annotation = { type: 'url_citation', url: cited.url, title: 'Fog', start_index: 0, end_index: 4 };
    expect(output.at(-1)).toMatchObject({ content: [{ text: 'Fog.', annotations: [annotation] }] });
  });

  it.each<readonly [string, readonly string[], readonly unknown[]]>([
    [
      'that failed',
      [useFrames(0, used('1')), block(1, answer('1', error('max_uses_exceeded')))],
      [{ status: 'failed', action, blocks: [used('1'), answer('1', error('max_uses_exceeded'))] }],
    ],
    [
      'that found nothing',
      [useFrames(0, used('1')), block(1, answer('1', []))],
      [{ status: 'completed', action, blocks: [used('1'), answer('1', [])] }],
    ],
    [
      'whose answer is that of another tool',
      [useFrames(0, used('1')), block(1, answer('1', FETCHED, 'web_fetch_tool_result'))],
      [{ status: 'failed', action, blocks: undefined }],
    ],
    ['that never ended', [useFrames(0, used('1'))], [{ status: 'failed', action, blocks: undefined }]],
    [
      'beside another one',
      [
        useFrames(0, used('1')),
        useFrames(1, used('2', { query: 'sun' })),
        block(2, answer('2', [])),
        block(3, answer('1', [])),
      ],
      [
        { status: 'completed', action, blocks: [used('1'), answer('1', [])] },
        {
          status: 'completed',
          action: { type: 'search', query: 'sun', queries: ['sun'] },
          blocks: [used('2', { query: 'sun' }), answer('2', [])],
        },
      ],
    ],
    [
      'that read a page',
      [
        useFrames(0, used('1', { url: 'https://a.example/fog' }, 'web_fetch')),
        block(1, answer('1', FETCHED, 'web_fetch_tool_result')),
      ],
      [
        {
          status: 'completed',
          action: { type: 'open_page', url: 'https://a.example/fog' },
          blocks: [
            used('1', { url: 'https://a.example/fog' }, 'web_fetch'),
            answer('1', FETCHED, 'web_fetch_tool_result'),
          ],
        },
      ],
    ],
    [
      "by the model's code, which cannot be given back alone",
      [useFrames(0, used('1'), { caller: { type: 'code_execution_20260120' } }), block(1, answer('1', []))],
      [{ status: 'completed', action, blocks: undefined }],
    ],
  ])('[X-07] [P-08] is reported as what it was: one %s', async (_what, frames, expected) => {
    await start();
    const shown = await searched(streamOf(messagesStream([...frames, textBlock(9, 'So.')])));
    expect(shown).toEqual(expected.map((item) => ({ type: 'web_search_call', ...(item as JsonObject) })));
  });
});

describe('a search in the history', () => {
  const written = (text: string) => ({ type: 'text', text });
  const turn = [
    { role: 'user', content: [written('Go.')] },
    { role: 'assistant', content: [written('Let me look.'), used('1'), answer('1'), written('Fog.')] },
    { role: 'user', content: [written('And?')] },
  ];

  it('[X-07] [S-12] goes back as it was, from the store', async () => {
    await start({ serverTools: [SEARCH] });
    app.fake.reply(SEARCHED, HELLO);
    const { id } = await askForJson(app.url);
    await askForJson(app.url, { previous_response_id: id, input: 'And?' });
    expect(sent()[1]?.messages).toEqual(turn);
  });

  it('[X-07] goes back as it was, from a client that keeps its own history', async () => {
    await start({ serverTools: [SEARCH] });
    app.fake.reply(SEARCHED, HELLO);
    const { output } = await askForJson(app.url, { store: false });
    const input = [{ role: 'user', content: 'Go.' }, ...output, { role: 'user', content: 'And?' }];
    await askForJson(app.url, { input });
    expect(sent()[1]?.messages).toEqual(turn);
  });

  it('[X-07] [S-08] stays with the thought before it and the call after it', async () => {
    await start({ serverTools: [SEARCH] });
    const frames = [
      thinkingBlock(0, 'Hm.', 'c2ln'),
      useFrames(1, used('1')),
      block(2, answer('1')),
      toolBlock(3, 'toolu_1', 'look', '{}'),
    ];
    app.fake.reply(streamOf(messagesStream(frames, { stop: 'tool_use' })), HELLO);
    const tools = [{ type: 'function', name: 'look' }];
    const { id } = await askForJson(app.url, { tools });
    const input = [{ type: 'function_call_output', call_id: 'toolu_1', output: 'Fog.' }];
    await askForJson(app.url, { tools, previous_response_id: id, input });
    expect(sent()[1]?.messages[1]?.content).toEqual([
      { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
      used('1'),
      answer('1'),
      { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} },
    ]);
  });

  it('[X-07] goes back once for each time that it is there, under an id of its own', async () => {
    await start();
    app.fake.reply(SEARCHED, HELLO);
    const { output } = await askForJson(app.url);
    await askForJson(app.url, { input: [...output, ...output, { role: 'user', content: 'And?' }] });
    const ids = sent()[1]?.messages[0]?.content.flatMap((each) => (each.type === 'server_tool_use' ? [each.id] : []));
    expect(ids).toEqual(['srvtoolu_1', 'srvtoolu_1_2']);
  });

  it.each<readonly [string, readonly unknown[] | undefined]>([
    ['missing', undefined],
    ['a thought', [{ type: 'thinking', thinking: 'x' }]],
    ['half a search', [used('1')]],
    ['a search with the answer to another tool', [used('1'), answer('1', FETCHED, 'web_fetch_tool_result')]],
    ['of another tool', [used('1', {}, 'bash'), answer('1', {}, 'bash_tool_result')]],
    ['a search with pages that are none', [used('1'), answer('1', ['text'])]],
    ['a search that found no pages', [used('1'), answer('1', 'text')]],
  ])('[X-07] [P-14] [S-03] stays away with a note where the state is %s', async (_what, state) => {
    const notes: string[] = [];
    await start({}, { hooks: { onNote: ({ code, message }) => notes.push(`${code} ${message}`) } });
    app.fake.reply(HELLO);
    const sealed = state && { encrypted_content: app.sealed(state) };
    const item = { type: 'web_search_call', id: 'ws_1', status: 'completed', ...sealed };
    await askForJson(app.url, { input: [{ role: 'user', content: 'Go.' }, item, { role: 'user', content: 'And?' }] });
    expect([sent()[0]?.messages, notes]).toEqual([
      [{ role: 'user', content: [written('Go.'), written('And?')] }],
      ["item_skipped Input items of type 'web_search_call' have no place in a Messages request."],
    ]);
  });

  it.each([['gAAAAABo'], ['pst1.'], ['pst1.AAAA'], ['pst1.%%%'], [7]])(
    '[V-01] [P-14] stays away with a note of its own where the seal cannot be opened: %s',
    async (encrypted) => {
      const notes: string[] = [];
      await start({}, { hooks: { onNote: ({ code }) => notes.push(code) } });
      app.fake.reply(HELLO);
      const item = { type: 'web_search_call', id: 'ws_1', status: 'completed', encrypted_content: encrypted };
      const other = { ...item, id: 'ws_2' };
      await askForJson(app.url, { input: [{ role: 'user', content: 'Go.' }, item, other] });
      expect([sent()[0]?.messages, notes]).toEqual([
        [{ role: 'user', content: [written('Go.')] }],
        ['state_unreadable', 'item_skipped'],
      ]);
    },
  );

  it('[X-07] goes to no other upstream, and is there again when the conversation comes back', async () => {
    const store = memoryStore();
    await start({ serverTools: [SEARCH] }, { store });
    app.fake.reply(SEARCHED, HELLO);
    const { id: first } = await askForJson(app.url);
    const chat = await startFakeUpstream();
    const upstream = chatCompletionsUpstream({ baseURL: chat.baseURL, apiKey: 'key', retries: 0 });
    const other = await startApp({ options: { store, upstream } });
    try {
      chat.reply({ body: textStream('Sun.') });
      const { id: second } = await askForJson(other.url, { previous_response_id: first, input: 'And?' });
      await askForJson(app.url, { previous_response_id: second, input: 'Well?' });
      const passed = JSON.stringify(chat.requests[0]?.body);
      expect([passed.includes('srvtoolu'), passed.includes('Fog.'), sent()[1]?.messages.slice(0, 3)]).toEqual([
        false,
        true,
        turn,
      ]);
    } finally {
      await other.close();
      await upstream.close?.();
      await chat.close();
    }
  });
});

describeShared('a recorded search', () => {
  it.each([
    ['anthropic-stream/anthropic-model-web-search-tool-stream-1.sse', 2],
    ['anthropic-stream/anthropic-pause-turn-web-search-streaming-vcr-1.sse', 10],
  ])('[Q-03] [X-07] goes back in a request that the server takes, with all that it found: %s', async (file, count) => {
    await start({ serverTools: [SEARCH] });
    const text = readShared(`corpus/${file}`);
    // What pauses goes on by itself.
    const replies = text.includes('pause_turn') ? [streamOf(text), HELLO] : [streamOf(text)];
    app.fake.reply(...replies, HELLO);
    const { id } = await askForJson(app.url);
    await askForJson(app.url, { previous_response_id: id, input: 'And?' });
    const answers = text
      .split('\n')
      .filter((line) => line.startsWith('data:') && line.includes('"web_search_tool_result"'))
      .map((line) => JSON.parse(line.slice('data:'.length)).content_block.content);
    const given = sent()
      .at(-1)
      ?.messages[1]?.content.flatMap((each) => (each.type === 'web_search_tool_result' ? [each.content] : []));
    expect([given?.length, given]).toEqual([count, answers]);
  });
});

describe('serverTools', () => {
  const look = { type: 'function', name: 'look' };
  const own = { name: 'look', input_schema: { type: 'object', properties: {} } };

  it.each<readonly [string, JsonObject, readonly unknown[], unknown]>([
    ['alone', {}, [SEARCH], undefined],
    ["before the client's own", { tools: [look] }, [SEARCH, own], undefined],
    ['though no tool may be called', { tools: [look], tool_choice: 'none' }, [SEARCH, own], { type: 'none' }],
    ['where some tool must be called', { tools: [look], tool_choice: 'required' }, [SEARCH, own], { type: 'any' }],
    [
      'to a client whose calls are in the history',
      {
        input: [
          { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}' },
          { type: 'function_call_output', call_id: 'a', output: 'Fog.' },
        ],
      },
      [SEARCH],
      undefined,
    ],
  ])('[X-07] are offered as they stand: %s', async (_when, body, tools, choice) => {
    await start({ serverTools: [SEARCH] });
    app.fake.reply(HELLO);
    await askForJson(app.url, body);
    const [request] = sent();
    expect([request?.tools, request?.tool_choice]).toEqual([tools, choice]);
  });

  it("[X-07] [S-03] give way, with a note, to a client's function of the same name", async () => {
    const notes: string[] = [];
    await start(
      { serverTools: [SEARCH] },
      { hooks: { onNote: ({ code, message }) => notes.push(`${code} ${message}`) } },
    );
    app.fake.reply(HELLO);
    await askForJson(app.url, { tools: [{ type: 'function', name: 'web_search' }] });
    expect([sent()[0]?.tools, notes]).toEqual([
      [{ ...own, name: 'web_search' }],
      [expect.stringMatching(/^setting_dropped .*the server tool 'web_search' beside a function of that name/)],
    ]);
  });

  it.each([
    ['no list', SEARCH],
    ['a tool without a type', [{ name: 'web_search' }]],
    ['a tool without a name', [{ type: 'web_search_20250305' }]],
    ["a client's tool", [{ type: 'custom', name: 'look' }]],
    ['a name only', ['web_search']],
  ])('[X-07] are refused when the upstream is created: %s', async (_what, serverTools) => {
    await start();
    const expected =
      'anthropicUpstream: serverTools must be a list of tools, each with a type of its own and a name, got';
    const refused = expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(expected) });
    expect(() => anthropicUpstream({ serverTools } as object)).toThrow(refused);
  });
});
