/** OpenAI's own client, end to end: everything it can do with this API, over real HTTP. */

import OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import { accumulateResponse } from 'openai/lib/responses/ResponseAccumulator';
import type {
  Response,
  ResponseInput,
  ResponseInputItem,
  ResponseStreamEvent,
} from 'openai/resources/responses/responses';
import { z } from 'zod';
import type { JsonObject } from '../../src/protocol/record.ts';
import { chatChunk, chatStream, textStream } from '../../src/testing/index.ts';
import { type RequestApp, requestAppPerTest } from '../support/request-app.ts';
import { OSLO, PARIS, WEATHER } from './response-values.ts';

let app: RequestApp;
let client: OpenAI;

requestAppPerTest((started) => {
  app = started;
  client = new OpenAI({ baseURL: app.url, apiKey: 'client-key', maxRetries: 0 });
});

const MODEL = 'fake-model';
const OUTPUTS: ResponseInputItem[] = [
  { type: 'function_call_output', call_id: 'call_oslo', output: 'Snow' },
  { type: 'function_call_output', call_id: 'call_paris', output: 'Sun' },
];

/** The conversation of the second turn, as the model sees it. */
const BOTH_TURNS = [
  { role: 'user', content: 'Paris and Oslo?' },
  {
    role: 'assistant',
    content: 'Let me look.',
    tool_calls: [PARIS, OSLO].map(({ id, name, arguments: text }) => ({
      id,
      type: 'function',
      function: { name, arguments: text },
    })),
  },
  { role: 'tool', tool_call_id: 'call_paris', content: 'Sun' },
  { role: 'tool', tool_call_id: 'call_oslo', content: 'Snow' },
];

/** Words, then both calls. */
const TURN_WITH_CALLS = chatStream(
  { content: 'Let me look.' },
  ...[PARIS, OSLO].map(({ id, name, arguments: text }, index) => ({
    tool_calls: [{ index, id, type: 'function', function: { name, arguments: text } }],
  })),
);

/** The response without what the client adds to it. */
function plain(response: Response): unknown {
  return JSON.parse(JSON.stringify(response), (key, value) => (ADDED.has(key) ? undefined : value));
}

const ADDED: ReadonlySet<string> = new Set(['parsed', 'parsed_arguments', 'output_parsed', 'output_text']);

/** What the client's accumulator makes of beginnings and deltas alone. */
function rebuiltFromDeltas(events: readonly ResponseStreamEvent[]): Response {
  const reported = events.filter(({ type }) => /\.(created|added|delta)$/.test(type));
  const rebuilt = reported.reduce<Response | undefined>(
    (snapshot, event) => accumulateResponse(event, snapshot),
    undefined,
  );
  if (!rebuilt) throw new Error('The stream has no response.created.');
  return rebuilt;
}

/** The output without its statuses, which no delta holds. */
function contentOf({ output }: Response): unknown {
  return output.map((item) => ({ ...item, status: undefined }));
}

describe('openai-node, create', () => {
  it('[S-01] [M-19] [D-01] [D-02] reads the text of a JSON answer', async () => {
    const response = await client.responses.create({ model: MODEL, input: 'Hi.' });
    expect([response.output_text, response.status, response.usage?.total_tokens]).toEqual(['Hello!', 'completed', 21]);
  });

  it('[S-02] [M-11] [D-02] iterates a stream up to its terminal event', async () => {
    app.upstream.reply({ body: textStream(['Hel', 'lo']) });
    const stream = await client.responses.create({ model: MODEL, input: 'Hi.', stream: true });
    const types = [];
    let text = '';
    for await (const event of stream) {
      types.push(event.type);
      if (event.type === 'response.output_text.delta') text += event.delta;
    }
    expect([text, types]).toEqual([
      'Hello',
      [
        'response.created',
        'response.in_progress',
        'response.output_item.added',
        'response.content_part.added',
        'response.output_text.delta',
        'response.output_text.delta',
        'response.output_text.done',
        'response.content_part.done',
        'response.output_item.done',
        'response.completed',
      ],
    ]);
  });

  it('[S-04] [D-22] sends images', async () => {
    const url = 'data:image/png;base64,iVBORw0KGgo=';
    await client.responses.create({
      model: MODEL,
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is it?' },
            { type: 'input_image', image_url: url, detail: 'auto' },
          ],
        },
      ],
    });
    expect(app.requested().messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is it?' },
          { type: 'image_url', image_url: { url, detail: 'auto' } },
        ],
      },
    ]);
  });

  it.each([
    [400, OpenAI.BadRequestError],
    [401, OpenAI.AuthenticationError],
    [404, OpenAI.NotFoundError],
    [429, OpenAI.RateLimitError],
    [500, OpenAI.InternalServerError],
  ])('[D-19] [M-09] throws its own error for a refusal of %i', async (status, kind) => {
    app.upstream.reply({ status, body: JSON.stringify({ error: { message: 'No.', code: 'because' } }) });
    const error = await client.responses.create({ model: MODEL, input: 'Hi.' }).catch((thrown: unknown) => thrown);
    expect([error instanceof kind, error]).toEqual([
      true,
      expect.objectContaining({ status, code: 'because', message: `${status} No.`, requestID: expect.any(String) }),
    ]);
  });
});

describe('openai-node, stream', () => {
  it.each([
    ['text', textStream(['Hel', 'lo'])],
    ['no text', chatStream({ role: 'assistant', content: '' })],
    ['reasoning and text', chatStream({ reasoning_content: 'Hm' }, { content: 'Yes' })],
    ['a refusal', chatStream({ refusal: 'No.' })],
    [
      'a citation',
      chatStream({ content: 'Yes' }, { annotations: [{ type: 'url_citation', url: 'https://a.example' }] }),
    ],
    ['words and parallel calls', TURN_WITH_CALLS],
    ['an answer cut off', [chatChunk({ content: 'Cut' }), chatChunk({}, { finish_reason: 'length' })].join('')],
  ])('[S-02] [M-22] [C-02] [C-04] rebuilds exactly our final response from the events of %s', async (_, body) => {
    app.upstream.reply({ body });
    const stream = client.responses.stream({ model: MODEL, input: 'Hi.', tools: [WEATHER] });
    const events: ResponseStreamEvent[] = [];
    stream.on('event', (event) => void events.push(structuredClone(event)));
    const final = await stream.finalResponse();
    const kept = await client.responses.retrieve(final.id);
    expect([plain(final), contentOf(rebuiltFromDeltas(events))]).toEqual([plain(kept), contentOf(kept)]);
  });

  it('[A-18] [M-09] throws the message of an error in mid-stream', async () => {
    const written = chatChunk({ content: 'Half' });
    app.upstream.reply({ body: written, cutAfterBytes: written.length });
    const stream = client.responses.stream({ model: MODEL, input: 'Hi.' });
    await expect(stream.finalResponse()).rejects.toThrow('The connection to the model server broke.');
  });
});

describe('openai-node, parse', () => {
  const Place = z.object({ city: z.string(), degrees: z.number() });

  it('[S-07] [B-35] parses structured output by its schema', async () => {
    app.upstream.reply({ body: textStream('{"city":"Paris","degrees":20}') });
    const format = zodTextFormat(Place, 'place');
    const response = await client.responses.parse({ model: MODEL, input: 'Where?', text: { format } });
    const { name, strict, schema } = format;
    expect([response.output_parsed, app.requested().response_format, response.text?.format]).toEqual([
      { city: 'Paris', degrees: 20 },
      { type: 'json_schema', json_schema: { name, strict, schema } },
      { type: 'json_schema', name, strict, schema, description: null },
    ]);
  });

  it('[S-07] parses a streamed answer as well', async () => {
    app.upstream.reply({ body: textStream(['{"city":"Paris",', '"degrees":20}']) });
    const text = { format: zodTextFormat(Place, 'place') };
    const final = await client.responses.stream({ model: MODEL, input: 'Where?', text }).finalResponse();
    expect(final.output_parsed).toEqual({ city: 'Paris', degrees: 20 });
  });
});

describe('openai-node, parallel tools over two turns', () => {
  const question = { model: MODEL, tools: [WEATHER] };

  beforeEach(() => app.upstream.reply({ body: TURN_WITH_CALLS }, { body: textStream('Sun and snow.') }));

  it('[S-05] [S-12] [A-11] [D-14] [D-15] continues with previous_response_id', async () => {
    const first = await client.responses.create({ ...question, input: 'Paris and Oslo?' });
    const second = await client.responses.create({ ...question, input: OUTPUTS, previous_response_id: first.id });
    expect([second.output_text, second.previous_response_id, app.requested().messages]).toEqual([
      'Sun and snow.',
      first.id,
      BOTH_TURNS,
    ]);
  });

  it('[S-05] [S-03] [D-14] continues with the full history, echoed as it came, streamed', async () => {
    const input: ResponseInput = [{ role: 'user', content: 'Paris and Oslo?' }];
    // `stream` adds its own fields to the items, and echoes them.
    const first = await client.responses.stream({ ...question, input, store: false }).finalResponse();
    const history = [...input, ...(first.output as ResponseInput), ...OUTPUTS];
    const second = await client.responses.stream({ ...question, input: history, store: false }).finalResponse();
    expect([first.output.length, second.output_text, app.requested().messages]).toEqual([
      3,
      'Sun and snow.',
      BOTH_TURNS,
    ]);
  });
});

describe('openai-node, stored responses', () => {
  it('[S-13] retrieves, deletes and then finds nothing', async () => {
    const created = await client.responses.create({ model: MODEL, input: 'Hi.' });
    const found = await client.responses.retrieve(created.id);
    const deleted: unknown = await client.responses.delete(created.id);
    const again = await client.responses.delete(created.id).catch((thrown: unknown) => thrown);
    const gone = await client.responses.retrieve(created.id).catch((thrown: unknown) => thrown);
    expect([plain(found), found.output_text, deleted, again, gone]).toEqual([
      plain(created),
      'Hello!',
      { id: created.id, object: 'response', deleted: true },
      expect.objectContaining({ status: 404, code: 'response_not_found' }),
      expect.objectContaining({ status: 404, code: 'response_not_found' }),
    ]);
  });

  it('[S-13] lists the input items, page after page', async () => {
    const input = Array.from({ length: 5 }, (_, index) => ({ role: 'user' as const, content: `Message ${index}` }));
    const { id } = await client.responses.create({ model: MODEL, input });
    const texts = [];
    for await (const item of client.responses.inputItems.list(id, { limit: 2, order: 'asc' })) {
      texts.push((item as unknown as { content: readonly JsonObject[] }).content[0]?.text);
      if (texts.length > input.length) break;
    }
    expect(texts).toEqual(['Message 0', 'Message 1', 'Message 2', 'Message 3', 'Message 4']);
  });

  it('[S-12] [M-17] [B-29] throws a BadRequestError for what cannot be continued', async () => {
    const { id } = await client.responses.create({ model: MODEL, input: 'Hi.', store: false });
    const error = await client.responses
      .create({ model: MODEL, input: 'Hi.', previous_response_id: id })
      .catch((thrown: unknown) => thrown);
    expect([error instanceof OpenAI.BadRequestError, error]).toEqual([
      true,
      expect.objectContaining({ code: 'previous_response_not_found', param: 'previous_response_id' }),
    ]);
  });

  it('[S-16] lists the models', async () => {
    const ids = [];
    for await (const { id } of client.models.list()) ids.push(id);
    expect(ids).toEqual(['fake-model']);
  });
});

describe('openai-node, responses in the background', () => {
  const QUESTION = { model: MODEL, input: 'Hi.', background: true } as const;

  async function polled(id: string): Promise<Response> {
    const found = await client.responses.retrieve(id);
    return found.status === 'queued' || found.status === 'in_progress' ? polled(id) : found;
  }

  it('[S-18] waits by asking again', async () => {
    const queued = await client.responses.create(QUESTION);
    const found = await polled(queued.id);
    expect([queued.status, queued.output_text, found.status, found.output_text]).toEqual([
      'queued',
      '',
      'completed',
      'Hello!',
    ]);
  });

  it('[S-18] leaves a stream and reads the rest of it later', async () => {
    const seen: ResponseStreamEvent[] = [];
    let id = '';
    for await (const event of await client.responses.create({ ...QUESTION, stream: true })) {
      seen.push(event);
      if (event.type === 'response.created') id = event.response.id;
      if (event.type === 'response.in_progress') break;
    }
    const starting_after = seen.at(-1)?.sequence_number ?? 0;
    for await (const event of await client.responses.retrieve(id, { stream: true, starting_after })) seen.push(event);
    expect(seen.map(({ sequence_number: number }) => number)).toEqual([...seen.keys()]);
    expect(seen.at(-1)).toMatchObject({ type: 'response.completed', response: { id, status: 'completed' } });
  });

  it('[S-18] follows a stream that it has left with `stream({ response_id })`', async () => {
    const first = client.responses.stream(QUESTION);
    const { id } = await first.finalResponse();
    const again = client.responses.stream({ response_id: id, starting_after: 3 });
    const types: string[] = [];
    again.on('event', ({ type }) => types.push(type));
    const final = await again.finalResponse();
    expect([final.output_text, types[0], types.at(-1)]).toEqual([
      'Hello!',
      'response.content_part.added',
      'response.completed',
    ]);
  });

  it('[S-18] cancels what is in the background, and nothing else', async () => {
    const awaited = await client.responses.create({ model: MODEL, input: 'Hi.' });
    const refused = await client.responses.cancel(awaited.id).catch((thrown: unknown) => thrown);
    app.upstream.reply({ hang: true });
    const { id } = await client.responses.create(QUESTION);
    const { status } = await client.responses.cancel(id);
    const found = await client.responses.retrieve(id);
    expect([refused instanceof OpenAI.BadRequestError, status, found.status]).toEqual([true, 'cancelled', 'cancelled']);
  });
});
