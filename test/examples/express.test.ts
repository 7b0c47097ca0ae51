/** The example app with its demo model, asked by OpenAI's own SDK. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chatChunk, startFakeUpstream } from 'express-open-responses/testing';
import OpenAI, { toFile } from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import type { FunctionTool, ResponseInput } from 'openai/resources/responses/responses';
import { z } from 'zod';
import type { Example } from '../../examples/express/start.ts';
import { usageLines } from '../../examples/express/usage.ts';
import { embeddingsServerOf } from '../apis/vector-stores/embeddings-server.ts';
import { freePort } from '../support/services.ts';
import { closedWhileStreaming, startExample } from './support.ts';

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=';

const weather: FunctionTool = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather in a city.',
  strict: true,
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' }, unit: { type: 'string', enum: ['celsius', 'fahrenheit'] } },
    required: ['city', 'unit'],
    additionalProperties: false,
  },
};

let example: Example;
let client: OpenAI;

function clientOf({ url }: Example, apiKey = 'any'): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
}

function ask(input: string | ResponseInput, more: Partial<OpenAI.Responses.ResponseCreateParamsNonStreaming> = {}) {
  return client.responses.create({ model: 'demo', input, ...more });
}

/** What a call was refused with. */
async function refusal(call: Promise<unknown>): Promise<unknown> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return error instanceof OpenAI.APIError && { status: error.status, code: error.code, type: error.type };
}

/** Asks for a stream, and leaves it as soon as the text has come. */
async function untilReceived(url: string, text: string): Promise<string> {
  const body = JSON.stringify({ model: 'm', input: 'Hi.', stream: true });
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  let received = '';
  for await (const chunk of answer.body ?? []) {
    received += Buffer.from(chunk).toString();
    if (received.includes(text)) return received;
  }
  return received;
}

beforeAll(async () => {
  example = await startExample();
  client = clientOf(example);
});
afterAll(() => example.close());

describe('the example app', () => {
  it('[S-01] answers in one piece', async () => {
    const { status, output_text, usage } = await ask('Say hello.');
    expect({ status, output_text, total: usage?.total_tokens }).toEqual({
      status: 'completed',
      output_text: 'Hello from the demo model. You wrote "Say hello."',
      total: 11,
    });
  });

  it('[S-01] streams the same answer word by word', async () => {
    const stream = client.responses.stream({ model: 'demo', input: 'Say hello.' });
    const deltas: string[] = [];
    stream.on('response.output_text.delta', ({ delta }) => deltas.push(delta));
    const { status, output_text } = await stream.finalResponse();
    expect({ status, output_text, deltas }).toEqual({
      status: 'completed',
      output_text: 'Hello from the demo model. You wrote "Say hello."',
      deltas: ['Hello', ' from', ' the', ' demo', ' model.', ' You', ' wrote', ' "Say', ' hello."'],
    });
  });

  it('[S-05] hands the client a call, and answers once it has the output', async () => {
    const requested = await ask('What is the weather in "Paris"?', { tools: [weather] });
    const [call] = requested.output;
    if (call?.type !== 'function_call') throw new Error(`got ${call?.type}`);
    const answered = await ask([{ type: 'function_call_output', call_id: call.call_id, output: '21 degrees' }], {
      previous_response_id: requested.id,
    });
    expect([call.name, JSON.parse(call.arguments), answered.output_text]).toEqual([
      'get_weather',
      { city: 'Paris', unit: 'celsius' },
      'The tool answered "21 degrees". Before that you wrote "What is the weather in "Paris"?"',
    ]);
  });

  it('[S-05] streams a call with its arguments', async () => {
    const stream = client.responses.stream({ model: 'demo', input: 'Call it.', tools: [weather] });
    let text = '';
    stream.on('response.function_call_arguments.delta', ({ delta }) => {
      text += delta;
    });
    const { output } = await stream.finalResponse();
    expect([text, output]).toEqual([
      '{"city":"some city","unit":"celsius"}',
      [expect.objectContaining({ type: 'function_call', status: 'completed', arguments: text })],
    ]);
  });

  it.each([
    ['required', 'get_weather'],
    [{ type: 'function', name: 'get_time' } as const, 'get_time'],
    ['none', undefined],
    ['auto', undefined],
  ] as const)('[S-05] obeys tool_choice %j', async (toolChoice, called) => {
    const tools = [weather, { ...weather, name: 'get_time' }];
    const { output } = await ask('Hi.', { tools, tool_choice: toolChoice });
    expect(output.map((item) => (item.type === 'function_call' ? item.name : undefined))).toEqual([called]);
  });

  it('[S-04] passes images on', async () => {
    const image = { type: 'input_image', image_url: PIXEL, detail: 'auto' } as const;
    const content = [{ type: 'input_text', text: 'What is this?' } as const, image, image];
    const { output_text } = await ask([{ role: 'user', content }]);
    expect(output_text).toBe('Hello from the demo model. I see 2 images. You wrote "What is this?"');
  });

  it('[S-07] answers in the form of a JSON Schema', async () => {
    const Event = z.object({ name: z.string(), day: z.enum(['Friday', 'Saturday']), people: z.array(z.string()) });
    const { output_parsed } = await client.responses.parse({
      model: 'demo',
      input: 'Alice and Bob go to a fair.',
      text: { format: zodTextFormat(Event, 'event') },
    });
    expect(output_parsed).toEqual({ name: 'some name', day: 'Friday', people: ['some people'] });
  });

  it('[S-08] shows the reasoning before the answer when effort is asked for', async () => {
    const { output, usage } = await ask('Hi.', { reasoning: { effort: 'low' } });
    expect([output.map(({ type }) => type), output[0], usage?.output_tokens_details.reasoning_tokens]).toEqual([
      ['reasoning', 'message'],
      expect.objectContaining({
        summary: [{ type: 'summary_text', text: 'Words that the user wrote: 1. I can answer at once.' }],
      }),
      11,
    ]);
  });

  it('[S-11] reports that an answer was cut off at max_output_tokens', async () => {
    const { status, incomplete_details, usage } = await ask('word '.repeat(30), { max_output_tokens: 16 });
    expect([status, incomplete_details, usage?.output_tokens]).toEqual([
      'incomplete',
      { reason: 'max_output_tokens' },
      16,
    ]);
  });

  it('[S-12] continues a response', async () => {
    const first = await ask('My name is Ada.');
    const { output_text } = await ask('What is my name?', { previous_response_id: first.id });
    expect(output_text).toBe(
      'Hello from the demo model. You wrote "What is my name?" Before that you wrote "My name is Ada."',
    );
  });

  it('[S-12] refuses to continue a response that it does not know or did not store', async () => {
    const unstored = await ask('Forget this.', { store: false });
    const refusals = ['resp_unknown', unstored.id].map((id) => refusal(ask('Hi.', { previous_response_id: id })));
    const expected = { status: 400, code: 'previous_response_not_found', type: 'invalid_request_error' };
    expect(await Promise.all(refusals)).toEqual([expected, expected]);
  });

  it('[S-13] gives back a response and its input, and deletes it once', async () => {
    const { output_text: _, ...requested } = await ask('Keep this.');
    const { output_text: __, ...kept } = await client.responses.retrieve(requested.id);
    const { data } = await client.responses.inputItems.list(requested.id);
    await client.responses.delete(requested.id);
    const again = await refusal(client.responses.delete(requested.id));
    expect([kept, data, again]).toEqual([
      requested,
      [expect.objectContaining({ role: 'user', content: [{ type: 'input_text', text: 'Keep this.' }] })],
      { status: 404, code: 'response_not_found', type: 'invalid_request_error' },
    ]);
  });

  it('[S-16] lists the models of the model server', async () => {
    const { data } = await client.models.list();
    expect(data.map(({ id }) => id)).toEqual(['demo']);
  });

  it('[X-01] [A-36] keeps its own routes beside the API', async () => {
    const health = await fetch(`${example.url}/health`);
    expect([health.status, await health.json()]).toEqual([200, { status: 'ok' }]);
  });
});

describe('the example app with API_KEYS', () => {
  let guarded: Example;

  beforeAll(async () => {
    guarded = await startExample({ API_KEYS: 'first-key, second-key' });
  });
  afterAll(() => guarded.close());

  it('[X-01] refuses a wrong key, and none, with its own 401', async () => {
    const wrong = await refusal(clientOf(guarded, 'wrong-key').models.list().withResponse());
    const none = await fetch(`${guarded.url}/v1/models`);
    expect([wrong, none.status, await none.json()]).toEqual([
      { status: 401, code: 'invalid_api_key', type: 'invalid_request_error' },
      401,
      {
        error: {
          message: 'Incorrect API key provided.',
          type: 'invalid_request_error',
          param: null,
          code: 'invalid_api_key',
        },
      },
    ]);
  });

  it('[X-01] asks for no key on its own route', async () => {
    expect((await fetch(`${guarded.url}/health`)).status).toBe(200);
  });

  it('[P-13] keeps what one key stored from the other', async () => {
    const [first, second] = [clientOf(guarded, 'first-key'), clientOf(guarded, 'second-key')];
    const { id } = await first.responses.create({ model: 'demo', input: 'Mine.' });
    const mine = await first.responses.retrieve(id);
    expect([mine.id, await refusal(second.responses.retrieve(id))]).toEqual([
      id,
      { status: 404, code: 'response_not_found', type: 'invalid_request_error' },
    ]);
  });
});

describe('starting and stopping the example app', () => {
  it('says first that it uses the demo model, then where it listens', async () => {
    const { start } = await import('../../examples/express/start.ts');
    const lines: string[] = [];
    const { url, close } = await start({ PORT: '0', LOG: 'off', MCP_CONFIG: 'off' }, (line) => lines.push(line));
    await close();
    expect(lines).toEqual([
      expect.stringMatching(/^No UPSTREAM_BASE_URL: using the embedded demo model at http:\/\/127\.0\.0\.1:\d+\/v1$/),
      `The Responses API is at ${url}/v1`,
      `The inspector, for this machine only, is at ${url}/inspect`,
    ]);
  });

  it('[X-01] prints the models, a request, and the settings of OpenAI’s SDKs and Codex', async () => {
    const { url } = example;
    expect(await usageLines(example)).toEqual([
      'Models: demo',
      `Try it: curl ${url}/v1/responses -H 'content-type: application/json' -d '{"model":"demo","input":"Say hello."}'`,
      `OpenAI's SDKs: export OPENAI_BASE_URL=${url}/v1 OPENAI_API_KEY=unused`,
      `Codex: OPENAI_API_KEY=unused codex -c model_provider=local -c 'model_providers.local={name="local",base_url="${url}/v1",model_catalog_url="${url}/v1/models",wire_api="responses",env_key="OPENAI_API_KEY"}' -m demo`,
    ]);
  });

  it('prints no key, and no name of a model that a terminal or a shell would read as a command', async () => {
    const names = ["it's", 'red\u001b[31m', '$(reboot)', '-m', 'a'.repeat(101), ...'123456'];
    const upstream = await startFakeUpstream({ models: names });
    const modelServer = { baseURL: upstream.baseURL, apiKey: 'server-key' };
    const lines = await usageLines({ url: 'http://localhost:3000', modelServer, needsKey: true });
    await upstream.close();
    const sent = upstream.requests.map(({ path, headers }) => [path, headers.authorization]);
    expect([sent, lines[0], lines[1], lines.join('\n').includes('server-key')]).toEqual([
      [['/v1/models', 'Bearer server-key']],
      'Models: 1, 2, 3, 4, 5 and 1 more',
      'In the lines below, KEY is one of API_KEYS.',
      false,
    ]);
    expect(lines[2]).toContain(" -H 'authorization: Bearer KEY' ");
  });

  it('prints lines to copy where the model server does not answer', async () => {
    const modelServer = { baseURL: 'http://127.0.0.1:1/v1', apiKey: '' };
    const lines = await usageLines({ url: 'http://localhost:3000', modelServer, needsKey: false });
    expect([lines[0], lines.at(-1)]).toEqual(['Models: not known', expect.stringMatching(/ -m my-model$/)]);
  });

  it('[X-01] asks the model server of UPSTREAM_BASE_URL, with UPSTREAM_API_KEY', async () => {
    const upstream = await startFakeUpstream({ models: ['real-model'] });
    const real = await startExample({ UPSTREAM_BASE_URL: upstream.baseURL, UPSTREAM_API_KEY: 'server-key' });
    const { data } = await clientOf(real).models.list();
    await Promise.all([real.close(), upstream.close()]);
    const requested = upstream.requests.map(({ path, headers }) => [path, headers.authorization]);
    expect([requested, data.map(({ id }) => id)]).toEqual([[['/v1/models', 'Bearer server-key']], ['real-model']]);
  });

  it('[P-15] fills the model server’s silence every HEARTBEAT_MS', async () => {
    const words = chatChunk({ content: 'Hello' });
    const upstream = await startFakeUpstream({ reply: { body: words, stallAfterBytes: words.length } });
    const real = await startExample({ UPSTREAM_BASE_URL: upstream.baseURL, HEARTBEAT_MS: '20' });
    const received = await untilReceived(`${real.url}/v1/responses`, ': heartbeat\n\n');
    await Promise.all([upstream.close(), real.close()]);
    expect(received).toContain('"delta":"Hello"');
  });

  it('lets a running stream finish before it stops', async () => {
    const stopping = await startExample({ PORT: String(await freePort()) });
    expect(await closedWhileStreaming(stopping)).toEqual(['response.completed', 'nobody listens']);
  });

  it('[X-06] keeps responses over a restart with STORE=sqlite:FILE', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'example-'));
    const STORE = `sqlite:${join(folder, 'responses.db')}`;
    const before = await startExample({ STORE });
    const { id } = await clientOf(before).responses.create({ model: 'demo', input: 'Keep this.' });
    await before.close();
    const after = await startExample({ STORE });
    const kept = await clientOf(after).responses.retrieve(id);
    await after.close();
    await rm(folder, { recursive: true });
    expect(kept.output_text).toBe('Hello from the demo model. You wrote "Keep this."');
  });

  it('rejects where its port is taken', async () => {
    const port = new URL(example.url).port;
    await expect(startExample({ PORT: port })).rejects.toThrow('EADDRINUSE');
  });

  it.each([
    [{ STORE: 'redis' }, "STORE must be 'memory', 'sqlite:FILE', 'redis://…' or 'postgres://…', got 'redis'"],
    [{ STORE: 'mysql://me:secret@db' }, /^STORE must be 'memory', .*, got 'mysql'$/],
    [{ STORE: 'redis://me:secret@127.0.0.1:1' }, /^STORE cannot be reached: connect ECONNREFUSED 127\.0\.0\.1:1$/],
    [{ STORE: 'postgres://me:secret@127.0.0.1:1/db' }, /^STORE cannot be used: connect ECONNREFUSED 127\.0\.0\.1:1$/],
    [{ PORT: 'http' }, "PORT must be a whole number from 0, got 'http'"],
    [{ HEARTBEAT_MS: '0' }, "HEARTBEAT_MS must be a whole number from 1, got '0'"],
    [{ LOG: 'loud' }, "LOG must be 'on' or 'off', got 'loud'"],
    [{ UPSTREAM_BASE_URL: 'localhost' }, "chatCompletionsUpstream: baseURL must be an http(s) URL, got 'localhost'"],
  ])('refuses to start with %j', async (env, message) => {
    await expect(startExample(env as Record<string, string>)).rejects.toThrow(message);
  });
});

describe('the example with files', () => {
  const settings = { PORT: '0', LOG: 'off', MCP_CONFIG: 'off' };

  it('[X-14] indexes and finds what was uploaded, where a model embeds', async () => {
    const { start } = await import('../../examples/express/start.ts');
    const embeddings = await embeddingsServerOf();
    const given = { EMBEDDINGS_URL: embeddings.baseURL, EMBEDDINGS_MODEL: 'hash' };
    const { url, close } = await start({ ...settings, ...given }, () => {});
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'k' });
    const store = await client.vectorStores.create({});
    const file = await toFile(Buffer.from('Cats purr.'), 'cats.txt');
    await client.vectorStores.files.uploadAndPoll(store.id, file, { pollIntervalMs: 20 });
    const { data } = await client.vectorStores.search(store.id, { query: 'cats' });
    await close();
    await embeddings.close();
    expect(data.map(({ filename }) => filename)).toEqual(['cats.txt']);
  });

  it('names the other setting where one of the embeddings is missing', async () => {
    const { start } = await import('../../examples/express/start.ts');
    await expect(start({ ...settings, EMBEDDINGS_MODEL: 'hash' })).rejects.toThrow(
      'EMBEDDINGS_URL and EMBEDDINGS_MODEL must be set together',
    );
  });
});
