/** A turn that Anthropic pauses goes on by itself: called again with the output so far, and shown as one response. */

import { Readable } from 'node:stream';
import fc from 'fast-check';
import type { RouterOptions } from '../../src/index.ts';
import type { ModelEvent } from '../../src/protocol/events.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import type { FakeAnswer } from '../../src/testing/index.ts';
import { MessagesDecoder } from '../../src/upstreams/anthropic/decoder.ts';
import { readEvents } from '../support/read-events.ts';
import { askForJson, askForStream, post } from '../support/responses-client.ts';
import { describeShared, readShared } from '../support/shared.ts';
import type { WireResponse } from '../support/wire-schemas.ts';
import { type MessagesApp, startMessagesApp, streamOf } from './messages-app.ts';
import {
  block,
  messageEnd,
  messageStart,
  messagesError,
  messagesEvent,
  messagesStream,
  textBlock,
  thinkingBlock,
  toolBlock,
} from './messages-bytes.ts';
import { expectMessagesRequest } from './messages-schema.ts';

const SEARCH = { type: 'web_search_20250305', name: 'web_search' };
const PAUSED = { stop: 'pause_turn' };

let app: MessagesApp;

async function start(options: RouterOptions = {}): Promise<void> {
  app = await startMessagesApp({ serverTools: [SEARCH] }, { hooks: { onError() {} }, ...options });
}

afterEach(() => app.close());

const bodies = () => app.fake.requests.map(({ body }) => body as JsonObject);
const messagesOf = (body: JsonObject | undefined) => (body?.messages ?? []) as readonly JsonObject[];

/** A use of the web whose answer is yet to come, and that answer. */
const use = (index: number, id: string, query: string) =>
  block(
    index,
    { type: 'server_tool_use', id, name: 'web_search', input: {} },
    { type: 'input_json_delta', partial_json: `{"query":` },
    { type: 'input_json_delta', partial_json: `"${query}"}` },
  );
const found = { type: 'web_search_result', title: 'A', url: 'https://example.com/a', encrypted_content: 'c2Vj' };
const answer = (index: number, id: string) =>
  block(index, { type: 'web_search_tool_result', tool_use_id: id, content: [found] });

/** What an answer says, item by item. */
function reported({ output }: WireResponse): readonly unknown[] {
  return output.map((item) => {
    if (item.type === 'message')
      return item.content.map((part) => ('text' in part ? part.text : part.refusal)).join('');
    if (item.type === 'web_search_call') return [item.status, item.action.type === 'search' && item.action.query];
    if (item.type === 'function_call') return [item.call_id, item.name, item.arguments];
    return item.type;
  });
}

// The continuation is written as the wire has it: the repository of the recording has none.
describeShared('a recorded pause', () => {
  const recorded = readShared('corpus/anthropic-stream/anthropic-pause-turn-web-search-streaming-vcr-1.sse');
  const blocks = blocksIn(recorded);
  const open = blocks.at(-1)?.id as string;
  const more = streamOf(messagesStream([answer(0, open), textBlock(1, 'All', ' done.')], { output: 57 }));

  /** The recording and its continuation, from bytes that come in these pieces. */
  async function goOn(split: FakeAnswer['split'] = 'whole') {
    await start();
    app.fake.reply({ ...streamOf(recorded), split }, { ...more, split });
    return (await askForStream(app.url)).response;
  }

  /** Without identity and seals, since each response has its own. */
  const plain = ({ status, output, usage }: WireResponse) =>
    JSON.parse(
      JSON.stringify([status, output, usage]).replaceAll(/"(id|encrypted_content)":"[^"]*"/g, '"$1":""'),
    ) as unknown;

  it('[V-15] goes on, with every search in one response and the usage of both requests', async () => {
    const response = await goOn();
    const searches = response.output.filter(({ type }) => type === 'web_search_call');
    expect(searches.map((item) => 'status' in item && item.status)).toEqual(Array(11).fill('completed'));
    expect([response.status, reported(response).at(-1)]).toEqual(['completed', 'All done.']);
    expect(response.usage).toMatchObject({ input_tokens: 404_500 + 9, output_tokens: 943 + 57, total_tokens: 405_509 });
    expect(response.usage?.output_tokens_details).toEqual({ reasoning_tokens: 261 });
  });

  it('[V-15] is given back as it came, in a request that is the same otherwise', async () => {
    await goOn();
    const [first, second] = bodies();
    expect(second).toEqual({ ...first, messages: [...messagesOf(first), { role: 'assistant', content: blocks }] });
    expectMessagesRequest(second);
  });

  it('[V-15] [P-08] means the same in any pieces', async () => {
    const whole = plain(await goOn());
    await app.close();
    const cuts = fc.uniqueArray(fc.integer({ min: 1, max: Buffer.byteLength(recorded) - 1 }), { maxLength: 16 });
    await fc.assert(
      fc.asyncProperty(cuts, async (offsets) => {
        expect(plain(await goOn(offsets.toSorted((one, other) => one - other)))).toEqual(whole);
        expect(messagesOf(bodies()[1]).at(-1)).toEqual({ role: 'assistant', content: blocks });
        await app.close();
      }),
      { numRuns: 5 },
    );
  });

  it('[V-15] [P-08] means the same byte by byte', async () => {
    const bytes = Buffer.from(recorded);
    const one = function* () {
      for (let at = 0; at < bytes.length; at += 1) yield bytes.subarray(at, at + 1);
    };
    const whole = await decoded([bytes]);
    expect([whole.pause?.content, await decoded(one())]).toEqual([blocks, whole]);
  }, 60_000);
});

/** The model's output up to its pause, and what is kept of it. */
async function decoded(chunks: Iterable<Buffer>) {
  const decoder = new MessagesDecoder(() => {}, 1e6);
  const events: ModelEvent[] = [];
  const body = Readable.from(chunks, { objectMode: false });
  for await (const batch of readEvents(body, { eventBytes: 1 << 20, quietMs: 60_000, onBytes: () => {} })) {
    for (const data of batch) decoder.take(JSON.parse(data), events);
  }
  return { events, pause: decoder.pause };
}

/** The blocks of a recorded message as they must go back, read as plainly as can be. */
function blocksIn(text: string): readonly JsonObject[] {
  const lines = text.split('\n').filter((line) => line.startsWith('data:'));
  const events = lines.map((line) => JSON.parse(line.slice('data:'.length)) as JsonObject);
  const found: Record<string, unknown>[] = [];
  const json: string[] = [];
  for (const { type, index, content_block: opened, delta } of events) {
    const at = Number(index);
    if (type === 'content_block_start') found[at] = { ...(opened as JsonObject) };
    if (type !== 'content_block_delta') continue;
    const { type: _, partial_json = '', ...more } = delta as JsonObject;
    for (const [name, piece] of Object.entries(more))
      found[at] = { ...found[at], [name]: `${found[at]?.[name]}${piece}` };
    json[at] = `${json[at] ?? ''}${partial_json}`;
  }
  return found.map((each, at) =>
    each.type === 'server_tool_use' ? { ...each, input: JSON.parse(json[at] ?? '') } : each,
  );
}

// Written as the wire has it: its documentation requires that the output goes back as it is, with the container.
describe('a turn that pauses', () => {
  it('[V-15] may pause again, and goes back with all output so far', async () => {
    await start();
    app.fake.reply(
      streamOf(messagesStream([textBlock(0, 'One. '), use(1, 'srvtoolu_1', 'a')], { ...PAUSED, output: 5 })),
      streamOf(messagesStream([answer(0, 'srvtoolu_1'), use(1, 'srvtoolu_2', 'b')], { ...PAUSED, output: 6 })),
      streamOf(messagesStream([answer(0, 'srvtoolu_2'), textBlock(1, 'Two.')], { output: 7 })),
    );
    const response = (await askForStream(app.url)).response;
    expect([response.status, reported(response)]).toEqual([
      'completed',
      ['One. ', ['completed', 'a'], ['completed', 'b'], 'Two.'],
    ]);
    expect(response.usage).toMatchObject({ input_tokens: 27, output_tokens: 18, total_tokens: 45 });
    const [, second, third] = bodies();
    const uses = (id: string, query: string) => ({ type: 'server_tool_use', id, name: 'web_search', input: { query } });
    const written = [{ type: 'text', text: 'One. ' }, uses('srvtoolu_1', 'a')];
    const answered = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [found] };
    expect(messagesOf(second).at(-1)).toEqual({ role: 'assistant', content: written });
    expect(messagesOf(third).slice(-2)).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Go.' }] },
      { role: 'assistant', content: [...written, answered, uses('srvtoolu_2', 'b')] },
    ]);
  });

  it('[V-15] goes on no more often than limits.tools.iterations says, and is incomplete then', async () => {
    await start({ limits: { tools: { iterations: 2 } } });
    app.fake.reply(streamOf(messagesStream([textBlock(0, 'On ')], PAUSED)));
    const { status, incomplete_details, output } = await askForJson(app.url);
    expect([status, incomplete_details, bodies().length]).toEqual(['incomplete', { reason: 'max_output_tokens' }, 3]);
    expect(output).toMatchObject([{ status: 'incomplete', content: [{ text: 'On On On ' }] }]);
  });

  it('[V-15] keeps to the tokens that the client allows, all requests together', async () => {
    await start();
    app.fake.reply(streamOf(messagesStream([textBlock(0, 'On ')], { ...PAUSED, output: 40 })));
    const { status } = await askForJson(app.url, { max_output_tokens: 100 });
    expect([status, bodies().map(({ max_tokens }) => max_tokens)]).toEqual(['incomplete', [100, 60, 20]]);
  });

  it('[V-15] cites the place in the text that goes on, and gives the citation back', async () => {
    await start();
    const web = {
      type: 'web_search_result_location',
      url: found.url,
      title: 'A',
      encrypted_index: 'aQ',
      cited_text: '…',
    };
    const cited = block(
      0,
      { type: 'text', text: '', citations: [] },
      { type: 'citations_delta', citation: web },
      { type: 'text_delta', text: 'Warm' },
    );
    app.fake.reply(
      streamOf(messagesStream([cited], PAUSED)),
      streamOf(messagesStream([textBlock(0, ', '), cited.replaceAll('"index":0', '"index":1')])),
    );
    const { output } = await askForJson(app.url);
    const places = output.flatMap((item) =>
      item.type === 'message' ? item.content.flatMap((part) => ('annotations' in part ? part.annotations : [])) : [],
    );
    expect(places.map((place) => 'url' in place && [place.start_index, place.end_index])).toEqual([
      [0, 4],
      [6, 10],
    ]);
    expect(messagesOf(bodies()[1]).at(-1)).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'Warm', citations: [web] }],
    });
  });

  it('[V-15] calls a tool of the client after the pause, and thinks before it', async () => {
    await start();
    app.fake.reply(
      streamOf(messagesStream([thinkingBlock(0, 'Hm', 'sig'), use(1, 'srvtoolu_1', 'a')], PAUSED)),
      streamOf(
        messagesStream([answer(0, 'srvtoolu_1'), toolBlock(1, 'toolu_1', 'look', '{"at":1}')], { stop: 'tool_use' }),
      ),
    );
    const response = await askForJson(app.url, { tools: [{ type: 'function', name: 'look' }] });
    expect([response.status, reported(response)]).toEqual([
      'completed',
      ['reasoning', ['completed', 'a'], ['toolu_1', 'look', '{"at":1}']],
    ]);
    expect(messagesOf(bodies()[1]).at(-1)).toMatchObject({
      role: 'assistant',
      content: [{ type: 'thinking', thinking: 'Hm', signature: 'sig' }, { type: 'server_tool_use' }],
    });
  });

  it('[V-15] goes on in its container, with blocks that have no item here', async () => {
    await start();
    const run = {
      type: 'server_tool_use',
      id: 'srvtoolu_1',
      name: 'code_execution',
      input: { code: '1' },
      caller: { type: 'direct' },
    };
    const ran = {
      type: 'code_execution_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: { type: 'code_execution_result', stdout: '1' },
    };
    const container = { id: 'container_1', expires_at: '2026-01-01T00:00:00Z' };
    const delta = { stop_reason: 'pause_turn', stop_sequence: null, container };
    const paused =
      messageStart() +
      block(0, run) +
      block(1, ran) +
      messagesEvent({ type: 'message_delta', delta, usage: { output_tokens: 3 } });
    app.fake.reply(
      streamOf(paused + messagesEvent({ type: 'message_stop' })),
      streamOf(messagesStream([textBlock(0, 'Done.')])),
    );
    expect(reported(await askForJson(app.url))).toEqual(['Done.']);
    const [, second] = bodies();
    expect([second?.container, messagesOf(second).at(-1)?.content]).toEqual(['container_1', [run, ran]]);
  });

  it('[V-15] goes on where the answer came as one JSON object, and after an answer that the client brought', async () => {
    await start();
    const usage = { input_tokens: 3, output_tokens: 4 };
    const message = {
      type: 'message',
      role: 'assistant',
      stop_reason: 'pause_turn',
      usage,
      content: [{ type: 'text', text: 'On ' }],
    };
    const json = (body: object) => ({ body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });
    app.fake.reply(
      json(message),
      json({ ...message, stop_reason: 'end_turn', content: [{ type: 'text', text: 'and on.' }] }),
    );
    const input = [
      { role: 'user', content: 'Go.' },
      { role: 'assistant', content: 'Well:' },
    ];
    // Newer models go on with no words of the assistant's.
    const response = await askForJson(app.url, { input, model: 'claude-3-opus' });
    expect([reported(response), response.usage?.total_tokens]).toEqual([['On and on.'], 14]);
    expect(messagesOf(bodies()[1]).at(-1)).toEqual({
      role: 'assistant',
      content: [
        { type: 'text', text: 'Well:' },
        { type: 'text', text: 'On' },
      ],
    });
  });

  it.each([
    ['a call of the client', [toolBlock(0, 'toolu_1', 'look', '{}')]],
    ['a thought at its end', [textBlock(0, 'On'), thinkingBlock(1, 'Hm', 'sig')]],
    ['nothing', []],
  ])('[V-15] is incomplete, as the wire takes no such message back: %s', async (_, frames) => {
    await start();
    app.fake.reply(streamOf(messagesStream(frames, PAUSED)));
    const { status } = await askForJson(app.url, { tools: [{ type: 'function', name: 'look' }] });
    expect([status, bodies().length]).toEqual(['incomplete', 1]);
  });

  it('[V-15] is incomplete where there was more output than a response may hold, shown or not', async () => {
    await start({ limits: { model: { outputBytes: 2000 } } });
    const run = (index: number) => block(index, { type: 'bash_code_execution_tool_result', content: 'x'.repeat(500) });
    app.fake.reply(streamOf(messagesStream([0, 1, 2, 3].map(run), PAUSED)));
    expect([(await askForJson(app.url)).status, bodies().length]).toEqual(['incomplete', 1]);
  });

  it('[V-15] fails with the output so far where the server refuses to go on', async () => {
    await start();
    const error = JSON.stringify(messagesError('invalid_request_error', 'No more.'));
    app.fake.reply(streamOf(messagesStream([textBlock(0, 'On')], PAUSED)), { status: 400, body: error });
    const { status, output, error: failure } = (await askForStream(app.url)).response;
    expect([status, failure?.message, output]).toMatchObject(['failed', 'No more.', [{ content: [{ text: 'On' }] }]]);
  });

  it('[V-15] [P-10] stops when the client leaves after the pause', async () => {
    await start();
    const begun = messageStart() + textBlock(0, 'more');
    app.fake.reply(streamOf(messagesStream([textBlock(0, 'On')], PAUSED)), {
      ...streamOf(begun + messageEnd()),
      stallAfterBytes: begun.length,
    });
    const client = new AbortController();
    const body = JSON.stringify({ model: 'm', input: 'Go.', stream: true });
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body, signal: client.signal };
    const stream = await fetch(`${app.url}/responses`, init);
    const read = stream.body?.getReader();
    const second = app.fake.requests.length > 1 ? undefined : app.fake.nextRequest();
    await read?.read();
    await second;
    client.abort();
    await app.fake.closed(1);
    expect(bodies().length).toBe(2);
  });

  it('[V-15] is a turn that can be continued', async () => {
    await start();
    app.fake.reply(
      streamOf(messagesStream([use(0, 'srvtoolu_1', 'a')], PAUSED)),
      streamOf(messagesStream([answer(0, 'srvtoolu_1'), textBlock(1, 'Fog.')])),
    );
    const { id } = await askForJson(app.url);
    await post(app.url, { previous_response_id: id, input: 'And?' });
    expect(messagesOf(expectMessagesRequest(bodies()[2]) as unknown as JsonObject).map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
    ]);
  });
});
