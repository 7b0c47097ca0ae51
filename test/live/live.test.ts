/** The whole package over a real model, beside a client that asks the same model server directly. */
import express from 'express';
import OpenAI, { toFile } from 'openai';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { filesRouter, memoryFiles } from '../../src/files.ts';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  functionTools,
  memoryStore,
  messagesRouter,
  type Note,
  responsesRouter,
} from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { createVectorStores, memoryVectors, vectorStoresRouter } from '../../src/vector-stores.ts';
import { type Listening, listening } from '../support/listening.ts';
import { freePort } from '../support/services.ts';
import { describeWhere } from '../support/skipping.ts';
import { type LlamaServer, startLlama, until, whyNoModel } from './llama-server.ts';
import { QUESTIONS, realDocuments } from './real-documents.ts';

const missing = await whyNoModel();

const MODEL = 'smollm2';
const COLD = { model: MODEL, temperature: 0 };
const WEATHER = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

/** A model this small calls a tool only where it has seen how. */
const SHOWN = ['Rome', 'Oslo'].flatMap((city) => [
  { role: 'user' as const, content: `What is the weather in ${city}?` },
  { type: 'function_call' as const, call_id: `call_${city}`, name: 'get_weather', arguments: `{"city": "${city}"}` },
  { type: 'function_call_output' as const, call_id: `call_${city}`, output: 'Sunny.' },
]);

describeWhere(missing === undefined, missing ?? '')('over a real model', () => {
  let port: number;
  let llama: LlamaServer;
  let app: Listening;
  let client: OpenAI;
  let direct: OpenAI;
  const asked: string[] = [];
  const notes: Note[] = [];
  const closers: (() => unknown)[] = [];

  beforeAll(async () => {
    port = await freePort();
    llama = await startLlama(port);
    const baseURL = `${llama.origin}/v1`;
    const upstream = chatCompletionsUpstream({ baseURL, apiKey: 'none', provider: 'llama.cpp', retries: 0 });
    const execute = ({ city }: JsonObject) => void asked.push(String(city));
    const weather = { get_weather: { description: 'Weather of a city', parameters: WEATHER, execute } };
    const hooks = { onNote: (note: Note) => void notes.push(note) };
    const options = { upstream, store: memoryStore(), logger: false as const, hooks };
    const host = express()
      .use('/v1', responsesRouter(options), chatCompletionsRouter(options), messagesRouter(options))
      .use('/tools/v1', responsesRouter({ ...options, tools: () => [functionTools(weather)] }));
    app = await listening(host);
    closers.push(app.close, () => upstream.close?.());
    client = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'none', maxRetries: 0 });
    direct = new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 });
  });
  afterAll(async () => {
    await Promise.all(closers.map((close) => close()));
    await llama?.kill();
  });

  it('[E-18] says what a direct client hears, whole and streamed, with the same usage', async () => {
    const content = 'Write one sentence about fog.';
    const said = await direct.chat.completions.create({
      ...COLD,
      max_tokens: 24,
      messages: [{ role: 'user', content }],
    });
    const whole = await client.responses.create({ ...COLD, max_output_tokens: 24, input: content });
    const streamed = await gathered(
      await client.responses.create({ ...COLD, max_output_tokens: 24, input: content, stream: true }),
    );
    const text = said.choices[0]?.message.content;
    expect([whole.output_text, streamed.text, streamed.last?.output_text]).toEqual([text, text, text]);
    expect([whole.usage?.input_tokens, whole.usage?.output_tokens]).toEqual([
      said.usage?.prompt_tokens,
      said.usage?.completion_tokens,
    ]);
  });

  it('[E-18] [V-30] [V-42] says the same on the other APIs, and nothing of it to the host', async () => {
    const messages = [{ role: 'user' as const, content: 'Write one sentence about fog.' }];
    const request = { ...COLD, max_tokens: 24, messages };
    const said = await direct.chat.completions.create(request);
    const text = said.choices[0]?.message.content;
    let chatText = '';
    for await (const { choices } of await client.chat.completions.create({ ...request, stream: true }))
      chatText += choices[0]?.delta.content ?? '';
    interface Message {
      readonly content: readonly { readonly text?: string }[];
    }
    const message = await client.post<Message>('/messages', { body: request });
    expect([chatText, message.content[0]?.text]).toEqual([text, text]);
    expect(notes).toEqual([]);
  });

  it('[V-29] refuses an image as a mistake of the client, where the model sees none', async () => {
    const image_url = `data:image/png;base64,${'A'.repeat(40)}`;
    const content = [{ type: 'input_image' as const, image_url, detail: 'auto' as const }];
    const refused = client.responses.create({ ...COLD, input: [{ role: 'user', content }] });
    await expect(refused).rejects.toMatchObject({ status: 400 });
  });

  // `required` lets llama.cpp's model talk first, and one so small then never ends: it calls as it has seen it done.
  it('[O-11] has the model call the function that is forced, and not the one that it would call', async () => {
    const tools = ['get_weather', 'get_time'].map((name) => ({
      type: 'function' as const,
      name,
      parameters: WEATHER,
      strict: false,
    }));
    const input = [...SHOWN, { role: 'user' as const, content: 'What is the weather in Paris?' }];
    const tool_choice = { type: 'function' as const, name: 'get_time' };
    const { output } = await client.responses.create({ ...COLD, max_output_tokens: 60, input, tools, tool_choice });
    expect(output.map((item) => (item.type === 'function_call' ? item.name : item.type))).toEqual(['get_time']);
  });

  it('[E-18] [O-10] counts the tokens that the server counts', async () => {
    const tools = [{ type: 'function' as const, name: 'get_weather', parameters: WEATHER, strict: false }];
    for (const extra of [{}, { tools }, { instructions: 'Be brief, s’il vous plaît.' }]) {
      const body = { model: MODEL, input: 'Was kostet ein Kilo Äpfel? 価格は?', ...extra };
      const { input_tokens: counted } = await client.post<{ input_tokens: number }>('/responses/input_tokens', {
        body,
      });
      const { usage } = await client.responses.create({ ...body, temperature: 0, max_output_tokens: 16 });
      expect(counted).toBe(usage?.input_tokens);
    }
    const body = { model: MODEL, messages: [{ role: 'user', content: 'Was kostet ein Kilo Äpfel? 価格は?' }] };
    const { input_tokens: counted } = await client.post<{ input_tokens: number }>('/messages/count_tokens', { body });
    const { usage } = await client.post<{ usage: { input_tokens: number; cache_read_input_tokens?: number } }>(
      '/messages',
      {
        body: { ...body, max_tokens: 4 },
      },
    );
    expect(counted).toBe(usage.input_tokens + (usage.cache_read_input_tokens ?? 0));
  });

  it('[E-18] frees the server’s slot when the client leaves', async () => {
    const controller = new AbortController();
    const input = 'Write a very long story about a ship.';
    const stream = await client.responses.create(
      { ...COLD, max_output_tokens: 1_500, input, stream: true },
      { signal: controller.signal },
    );
    for await (const { type } of stream) if (type === 'response.output_text.delta') break;
    controller.abort();
    await until(async () => (await llama.busySlots()) === 0);
  });

  it('[E-18] has the model call the client’s tools and the server’s', async () => {
    const input = [...SHOWN, { role: 'user' as const, content: 'What is the weather in Paris?' }];
    const tools = [{ type: 'function' as const, name: 'get_weather', parameters: WEATHER, strict: false }];
    const { output } = await client.responses.create({ ...COLD, max_output_tokens: 60, input, tools });
    const [call] = output;
    expect(call?.type === 'function_call' && [call.name, JSON.parse(call.arguments)]).toEqual([
      'get_weather',
      { city: 'Paris' },
    ]);
    const runner = new OpenAI({ baseURL: `${app.url}/tools/v1`, apiKey: 'none', maxRetries: 0 });
    await runner.post('/responses', { body: { ...COLD, max_output_tokens: 60, max_tool_calls: 1, input } });
    expect(asked).toEqual(['Paris']);
  });

  it('[E-18] keeps the model to a schema', async () => {
    const schema = {
      type: 'object',
      properties: { city: { type: 'string', maxLength: 20 }, size: { type: 'integer', minimum: 1, maximum: 9 } },
      required: ['city', 'size'],
      additionalProperties: false,
    };
    const format = { type: 'json_schema' as const, name: 'city', schema, strict: true };
    const body = { ...COLD, max_output_tokens: 100, input: 'Name a city.', text: { format } };
    const { output_text: text } = await client.responses.create(body);
    expect(JSON.parse(text)).toEqual({ city: expect.any(String), size: expect.any(Number) });
  });

  it('[E-18] serves 32 streams at a time', async () => {
    const streams = Array.from({ length: 32 }, async (_, number) => {
      const input = `Say hello to number ${number}.`;
      const body = { ...COLD, max_output_tokens: 16, input, stream: true as const };
      return gathered(await client.responses.create(body));
    });
    const all = await Promise.all(streams);
    expect(all.filter(({ text, last }) => text === '' || text !== last?.output_text)).toEqual([]);
    expect(new Set(all.map(({ last }) => last?.id)).size).toBe(32);
  });

  it('[E-18] [V-30] fails a stream whose server is killed, says so while it is away, and goes on when it is back', async () => {
    const body = { ...COLD, max_output_tokens: 1_500, input: 'Write a very long story about a ship.' };
    const stream = await client.responses.create({ ...body, stream: true });
    const read = async () => {
      for await (const { type } of stream) if (type === 'response.output_text.delta') await llama.kill();
    };
    // openai-node throws at the event that tells of it.
    await expect(read()).rejects.toThrow('The connection to the model server broke.');
    const away = await client.responses.create(body).catch((error: { status?: number }) => error.status);
    expect([502, 503]).toContain(away);
    llama = await startLlama(port, { now: true });
    const statuses = new Set<number>();
    const unsaid: number[] = [];
    await until(async () => {
      const headers = { 'content-type': 'application/json' };
      const init = { method: 'POST', headers, body: JSON.stringify({ ...body, max_output_tokens: 16 }) };
      const reply = await fetch(`${app.url}/v1/responses`, init);
      await reply.text();
      statuses.add(reply.status);
      if (reply.status === 503 && !reply.headers.has('retry-after')) unsaid.push(reply.status);
      return reply.status === 200;
    });
    expect([[...statuses].filter((status) => ![200, 502, 503].includes(status)), unsaid]).toEqual([[], []]);
  });

  it('[E-18] has the server evaluate no more tokens over 20 turns than a direct client', async () => {
    const turns = Array.from({ length: 20 }, (_, turn) => `Question ${turn}: what comes after ${turn}?`);
    await llama.kill();
    llama = await startLlama(port);
    const messages: OpenAI.ChatCompletionMessageParam[] = [];
    for (const content of turns) {
      messages.push({ role: 'user', content });
      const { choices } = await direct.chat.completions.create({ ...COLD, max_tokens: 16, messages });
      messages.push({ role: 'assistant', content: choices[0]?.message.content ?? '' });
    }
    const directly = await llama.metric('prompt_tokens_total');
    await llama.kill();
    llama = await startLlama(port);
    let previous: { readonly previous_response_id?: string } = {};
    for (const input of turns) {
      const { id } = await client.responses.create({ ...COLD, max_output_tokens: 16, input, ...previous });
      previous = { previous_response_id: id };
    }
    const ours = await llama.metric('prompt_tokens_total');
    expect(directly).toBeGreaterThan(0);
    expect(ours).toBeLessThanOrEqual(directly);
  });

  it('[E-18] [V-29] [V-33] finds the document that answers, for 18 of 20 questions among 150, while others are read', async () => {
    await llama.kill();
    llama = await startLlama(port, { embeds: true });
    const files = memoryFiles();
    const embeddings = { baseURL: `${llama.origin}/v1`, model: 'all-minilm' };
    const vectorStores = createVectorStores({ files, index: memoryVectors(), embeddings, logger: false });
    const host = express().use('/v1', filesRouter({ files }), vectorStoresRouter({ vectorStores }));
    const own = await listening(host);
    closers.push(own.close, () => vectorStores.close());
    const searcher = new OpenAI({ baseURL: `${own.url}/v1`, apiKey: 'none', maxRetries: 0 });
    const { id } = await searcher.vectorStores.create({ name: 'pages' });
    const documents = realDocuments();
    const counts = async () => (await searcher.vectorStores.retrieve(id)).file_counts;
    for (const { name, text } of documents) {
      const file = await toFile(Buffer.from(text), name);
      const { id: file_id } = await searcher.files.create({ file, purpose: 'assistants' });
      // The long ones are one piece of some thousand tokens, which the server refuses with 500: it takes 512.
      const chunking_strategy = {
        type: 'static' as const,
        static: { max_chunk_size_tokens: 1200, chunk_overlap_tokens: 0 },
      };
      await searcher.vectorStores.files.create(id, { file_id, chunking_strategy });
    }
    const search = async (query: string) => {
      const { data } = await searcher.vectorStores.search(id, { query, max_num_results: 5 });
      return data.map(({ filename }) => filename);
    };
    await search(QUESTIONS[0][0]);
    expect((await counts()).in_progress).toBeGreaterThan(0);
    for (let settled = 10; settled <= documents.length; settled += 10)
      await until(async () => (await counts()).in_progress <= documents.length - settled);
    const missed: string[] = [];
    for (const [question, page] of QUESTIONS)
      if (!(await search(question)).includes(`docs-${page}.md`)) missed.push(question);
    expect([(await counts()).completed, missed.length > 2 ? missed : []]).toEqual([150, []]);
  });
});

/** The deltas of a stream, and the response in its last event. */
async function gathered(stream: AsyncIterable<ResponseStreamEvent>) {
  let text = '';
  let last: OpenAI.Responses.Response | undefined;
  for await (const event of stream) {
    if (event.type === 'response.output_text.delta') text += event.delta;
    if (event.type === 'response.completed' || event.type === 'response.incomplete') last = event.response;
  }
  // What the SDK adds to whole answers.
  const output_text = last?.output.flatMap((item) => (item.type === 'message' ? item.content : []));
  const joined = output_text?.map((part) => (part.type === 'output_text' ? part.text : '')).join('');
  return { text, last: last && { ...last, output_text: joined } };
}
