/** `aiSdkUpstream` over the AI SDK's own providers, whose servers play scripted answers, and over models of the test's own. */
import { createAmazonBedrock } from '@ai-sdk/amazon-bedrock';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import type { LanguageModelV3StreamPart } from '@ai-sdk/provider';
import { EventStreamCodec } from '@smithy/eventstream-codec';
import { fromUtf8, toUtf8 } from '@smithy/util-utf8';
import type { ModelEvent, ModelRequest, Note, Upstream } from '../../src/index.ts';
import type { Item } from '../../src/protocol/items.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { type AiSdkModel, aiSdkUpstream } from '../../src/upstreams/ai-sdk/ai-sdk-upstream.ts';
import { deferred } from '../engine/tools/support.ts';
import { startApp } from '../support/app.ts';
import { askForJson, askForStream } from '../support/responses-client.ts';
import { messagesStream, textBlock, thinkingBlock, toolBlock } from './messages-bytes.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const LOOK = { type: 'function', name: 'look', parameters: { type: 'object', properties: { at: { type: 'string' } } } };
const SIGNATURE = 'c2lnbmF0dXJlIG9mIHRoZSBtb2RlbA==';

async function serverWith(...bodies: readonly (string | Uint8Array)[]): Promise<FakeUpstream> {
  const fake = await startFakeUpstream();
  closers.push(() => fake.close());
  const type = {
    'content-type': bodies[0] instanceof Uint8Array ? 'application/vnd.amazon.eventstream' : 'text/event-stream',
  };
  fake.reply(...bodies.map((body) => ({ headers: type, body })));
  return fake;
}

/** An app in front of the model: asks a first question, answers the call that the model makes, and returns what the model was sent then. */
async function secondRequest(upstream: Upstream, fake: FakeUpstream): Promise<{ first: JsonObject; sent: string }> {
  const app = await startApp({ options: { upstream, logger: false } });
  closers.unshift(() => app.close());
  const first = await askForJson(app.url, { model: 'm', input: 'Where?', tools: [LOOK] });
  const output = (first.output as readonly JsonObject[]) ?? [];
  const call = output.find(({ type }) => type === 'function_call');
  const answer = { type: 'function_call_output', call_id: call?.call_id, output: 'There.' };
  await askForJson(app.url, { model: 'm', input: [answer], tools: [LOOK], previous_response_id: first.id });
  return { first, sent: JSON.stringify(fake.requests[1]?.body) };
}

function sse(...events: readonly JsonObject[]): string {
  return events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
}

describe('[E-06] over the AI SDK’s providers', () => {
  it('sends Anthropic’s thoughts back with their signature, in their place', async () => {
    const fake = await serverWith(
      messagesStream([thinkingBlock(0, 'Hm.', SIGNATURE), toolBlock(1, 'toolu_1', 'look', '{"at":"sea"}')], {
        stop: 'tool_use',
      }),
      messagesStream([textBlock(0, 'Here.')]),
    );
    const upstream = aiSdkUpstream(createAnthropic({ baseURL: fake.baseURL, apiKey: 'key' })('claude-test'));
    const { sent } = await secondRequest(upstream, fake);
    expect(JSON.parse(sent).messages[1].content).toEqual([
      { type: 'thinking', thinking: 'Hm.', signature: SIGNATURE },
      expect.objectContaining({ type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'sea' } }),
    ]);
  });

  it('sends Google’s signatures back with the calls that they belong to', async () => {
    const usage = { promptTokenCount: 9, candidatesTokenCount: 12, totalTokenCount: 21, cachedContentTokenCount: 4 };
    const called = { functionCall: { name: 'look', args: { at: 'sea' } }, thoughtSignature: SIGNATURE };
    const candidates = (parts: readonly JsonObject[], finishReason = 'STOP') => [
      { content: { role: 'model', parts }, finishReason, index: 0 },
    ];
    const fake = await serverWith(
      sse({ candidates: candidates([{ text: 'Hm.', thought: true }, called]), usageMetadata: usage }),
      sse({ candidates: candidates([{ text: 'Here.' }]), usageMetadata: usage }),
    );
    const upstream = aiSdkUpstream(createGoogleGenerativeAI({ baseURL: fake.baseURL, apiKey: 'key' })('gemini-test'));
    const { first, sent } = await secondRequest(upstream, fake);
    const [, model] = JSON.parse(sent).contents as readonly {
      readonly role: string;
      readonly parts: readonly JsonObject[];
    }[];
    expect(model?.parts.find((part) => part.functionCall)).toMatchObject({
      functionCall: { name: 'look', args: { at: 'sea' } },
      thoughtSignature: SIGNATURE,
    });
    expect(first.usage).toMatchObject({
      input_tokens: 9,
      output_tokens: 12,
      input_tokens_details: { cached_tokens: 4 },
    });
  });

  it('sends the thoughts of Bedrock’s models back with their signature', async () => {
    const usage = { inputTokens: 9, outputTokens: 12, totalTokens: 21 };
    const fake = await serverWith(
      bedrock(
        ['messageStart', { role: 'assistant' }],
        ['contentBlockDelta', { contentBlockIndex: 0, delta: { reasoningContent: { text: 'Hm.' } } }],
        ['contentBlockDelta', { contentBlockIndex: 0, delta: { reasoningContent: { signature: SIGNATURE } } }],
        ['contentBlockStop', { contentBlockIndex: 0 }],
        ['contentBlockStart', { contentBlockIndex: 1, start: { toolUse: { toolUseId: 'tooluse_1', name: 'look' } } }],
        ['contentBlockDelta', { contentBlockIndex: 1, delta: { toolUse: { input: '{"at":' } } }],
        ['contentBlockDelta', { contentBlockIndex: 1, delta: { toolUse: { input: '"sea"}' } } }],
        ['contentBlockStop', { contentBlockIndex: 1 }],
        ['messageStop', { stopReason: 'tool_use' }],
        ['metadata', { usage }],
      ),
      bedrock(
        ['messageStart', { role: 'assistant' }],
        ['contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Here.' } }],
        ['contentBlockStop', { contentBlockIndex: 0 }],
        ['messageStop', { stopReason: 'end_turn' }],
        ['metadata', { usage }],
      ),
    );
    const provider = createAmazonBedrock({ baseURL: fake.baseURL, region: 'eu-west-1', apiKey: 'key' });
    const { first, sent } = await secondRequest(aiSdkUpstream(provider('anthropic.claude-test')), fake);
    expect(JSON.parse(sent).messages[1].content).toEqual([
      { reasoningContent: { reasoningText: { text: 'Hm.', signature: SIGNATURE } } },
      { toolUse: { toolUseId: 'tooluse_1', name: 'look', input: { at: 'sea' } } },
    ]);
    expect(first.output).toMatchObject([{ type: 'reasoning' }, { type: 'function_call', arguments: '{"at":"sea"}' }]);
  });
});

/** Amazon's binary event stream. */
function bedrock(...events: readonly (readonly [type: string, body: JsonObject])[]): Uint8Array {
  const codec = new EventStreamCodec(toUtf8, fromUtf8);
  const text = (value: string) => ({ type: 'string', value }) as const;
  const frames = events.map(([type, body]) =>
    codec.encode({
      headers: {
        ':event-type': text(type),
        ':content-type': text('application/json'),
        ':message-type': text('event'),
      },
      body: fromUtf8(JSON.stringify(body)),
    }),
  );
  return Buffer.concat(frames);
}

/** A model that answers with these parts. */
function mock(parts: readonly JsonObject[], version = 'v4', seen: JsonObject[] = []): AiSdkModel {
  return {
    specificationVersion: version,
    provider: 'mock',
    modelId: 'mock-1',
    async doStream(options: JsonObject) {
      seen.push(options);
      return {
        stream: new ReadableStream({
          start: (controller) => {
            for (const part of parts) controller.enqueue(part);
            controller.close();
          },
        }),
      };
    },
  } as AiSdkModel;
}

const USAGE = { inputTokens: { total: 3, cacheRead: 1 }, outputTokens: { total: 2, reasoning: 1 } };
const FINISH = { type: 'finish', usage: USAGE, finishReason: { unified: 'stop', raw: 'stop' } };

/** A call whose input begins, and its end. */
const STARTED = { type: 'tool-input-start', id: 'c', toolName: 'look' };
const LOOKED = (at: string) => ({
  type: 'tool-call',
  toolCallId: 'c',
  toolName: 'look',
  input: JSON.stringify({ at }),
});

const QUESTION: ModelRequest = { model: 'm', items: [{ type: 'message', role: 'user', content: 'Hi.' }], tools: [] };

const TIMES = { firstByteTimeoutMs: 10_000, idleTimeoutMs: 10_000 };
const LIMITS = { ...TIMES, eventBytes: 1e6, outputBytes: 1e6, toolIterations: 5 };

async function eventsOf(upstream: Upstream, request: ModelRequest = QUESTION) {
  const notes: Note[] = [];
  const call = {
    signal: new AbortController().signal,
    headers: new Headers(),
    limits: LIMITS,
    note: (note: Note) => void notes.push(note),
  };
  const events: ModelEvent[] = [];
  for await (const batch of upstream.stream(request, call)) events.push(...batch);
  return { events, notes };
}

describe('[E-06] over a model of any kind', () => {
  const data = { provider: { data: 'x'.repeat(1000) } };
  it.each<[string, (id: string) => readonly JsonObject[]]>([
    ['thoughts', (id) => [{ type: 'reasoning-start', id, providerMetadata: data }]],
    ['calls', (id) => [{ type: 'tool-input-start', id, toolName: 'f', providerMetadata: data }]],
    [
      'calls of its own',
      (id) => [
        { type: 'tool-call', toolCallId: id, toolName: 'f', input: `"${'x'.repeat(1000)}"`, providerExecuted: true },
      ],
    ],
    [
      'metadata of one thought',
      (id) => [{ type: 'reasoning-delta', id: '0', delta: '', providerMetadata: { [id]: data } }],
    ],
  ])('keeps no more %s than an answer may have', async (_, part) => {
    const parts = Array.from({ length: 2000 }, (_each, at) => part(`id${at}`)).flat();
    await expect(eventsOf(aiSdkUpstream(mock([...parts, FINISH])))).rejects.toMatchObject({ code: 'output_too_large' });
    await expect(eventsOf(aiSdkUpstream(mock([...parts.slice(0, 500), FINISH])))).resolves.toBeDefined();
  });

  it('reads text, sources, images, usage and searches of the provider’s own', async () => {
    const parts: readonly (LanguageModelV3StreamPart | JsonObject)[] = [
      { type: 'stream-start', warnings: [{ type: 'unsupported', feature: 'topK', details: 'No.' }] },
      { type: 'response-metadata', modelId: 'real-model' },
      { type: 'tool-call', toolCallId: 's1', toolName: 'web_search', input: '{"query":"sea"}', providerExecuted: true },
      { type: 'tool-result', toolCallId: 's1', toolName: 'web_search', result: [{ url: 'https://a.example' }] },
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'Hello.' },
      { type: 'source', sourceType: 'url', id: 'a', url: 'https://a.example', title: 'A' },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'iVBORw0KGgo=' } },
      { type: 'text-end', id: '0' },
      FINISH,
    ];
    const { events, notes } = await eventsOf(aiSdkUpstream(mock(parts as readonly JsonObject[])));
    expect(events.map(({ type }) => type)).toEqual([
      'model-info',
      'search-start',
      'search-end',
      'text-delta',
      'annotation',
      'image',
      'usage',
      'finish',
    ]);
    expect(events.find(({ type }) => type === 'usage')).toMatchObject({
      usage: {
        input_tokens: 3,
        input_tokens_details: { cached_tokens: 1 },
        output_tokens_details: { reasoning_tokens: 1 },
        total_tokens: 5,
      },
    });
    expect(notes).toEqual([{ code: 'setting_dropped', message: "The model's provider warns of 'topK': No." }]);
  });

  it('gives the model the whole request, and notes what the interface cannot say', async () => {
    const seen: JsonObject[] = [];
    const items: readonly Item[] = [
      { type: 'message', role: 'developer', content: 'Be kind.' },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'Look.' },
          { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
          { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,BBBB' },
        ],
      },
      { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{"at":"sea"}' },
      { type: 'function_call', call_id: 'c2', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'Blue.' },
      {
        type: 'function_call_output',
        call_id: 'c2',
        output: [{ type: 'input_image', image_url: 'data:image/png;base64,CCCC' }],
      },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Blue.' }] },
    ];
    const request: ModelRequest = {
      ...QUESTION,
      instructions: 'You look.',
      items,
      tools: [{ name: 'look', description: 'Looks.', parameters: { type: 'object' } }],
      toolChoice: 'required',
      reasoningEffort: 'high',
      maxOutputTokens: 10,
      topLogprobs: 2,
      textFormat: { type: 'json_schema', name: 'a', schema: { type: 'object' } },
    };
    const upstream = aiSdkUpstream(mock([FINISH], 'v4', seen), { providerOptions: { mock: { a: 1 } } });
    const { notes } = await eventsOf(upstream, request);
    const { abortSignal: _, ...options } = seen[0] ?? {};
    expect(options).toEqual({
      prompt: [
        { role: 'system', content: 'You look.\n\nBe kind.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look.' },
            { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } },
            { type: 'file', mediaType: 'application/pdf', data: { type: 'data', data: 'BBBB' }, filename: 'a.pdf' },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: { at: 'sea' } },
            { type: 'tool-call', toolCallId: 'c2', toolName: 'look', input: {} },
          ],
        },
        {
          role: 'tool',
          content: [
            { type: 'tool-result', toolCallId: 'c1', toolName: 'look', output: { type: 'text', value: 'Blue.' } },
            {
              type: 'tool-result',
              toolCallId: 'c2',
              toolName: 'look',
              output: {
                type: 'content',
                value: [{ type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'CCCC' } }],
              },
            },
          ],
        },
        { role: 'assistant', content: [{ type: 'text', text: 'Blue.' }] },
      ],
      tools: [{ type: 'function', name: 'look', description: 'Looks.', inputSchema: { type: 'object' } }],
      toolChoice: { type: 'required' },
      responseFormat: { type: 'json', schema: { type: 'object' }, name: 'a' },
      reasoning: 'high',
      maxOutputTokens: 10,
      providerOptions: { mock: { a: 1 } },
    });
    expect(notes.map(({ message }) => message)).toEqual([expect.stringContaining('top_logprobs')]);
  });

  it('[E-06] gives the model what it wrote as arguments, whether it is JSON or not, and with all digits', async () => {
    const seen: JsonObject[] = [];
    const digits = '12345678901234567890';
    const items = ['{"at": "se', `{"at":${digits}}`, ' '].flatMap((text, index): readonly Item[] => [
      { type: 'function_call', call_id: `c${index}`, name: 'look', arguments: text },
      { type: 'function_call_output', call_id: `c${index}`, output: 'Blue.' },
    ]);
    const { notes } = await eventsOf(aiSdkUpstream(mock([FINISH], 'v3', seen)), { ...QUESTION, items });
    // The cast: the prompt is the upstream's own.
    const messages = seen[0]?.prompt as readonly { readonly content: readonly JsonObject[] }[];
    const inputs = messages.flatMap(({ content }) => content.flatMap(({ input }) => (input ? [input] : [])));
    const sent = JSON.stringify(inputs).replace(`"${digits}"`, digits);
    expect([sent, notes.map(({ code }) => code)]).toEqual([
      `[{"invalid_json":"{\\"at\\": \\"se"},{"at":${digits}},{}]`,
      ['arguments_wrapped'],
    ]);
  });

  it('[E-06] hands on the signatures of thoughts, of calls and of text, whichever part carries them', async () => {
    const signed = (value: string) => ({ providerMetadata: { google: { [value]: true } } });
    const { events } = await eventsOf(
      aiSdkUpstream(
        mock([
          { type: 'reasoning-start', id: 'r', ...signed('start') },
          { type: 'reasoning-delta', id: 'r', delta: 'Hm.' },
          { type: 'reasoning-end', id: 'r', providerMetadata: { anthropic: { signature: 'end' } } },
          { type: 'text-delta', id: 't', delta: 'Here.' },
          { type: 'text-end', id: 't', ...signed('text') },
          { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: '{}', ...signed('call') },
          { type: 'tool-call', toolCallId: 'b', toolName: 'look', input: '{}' },
          FINISH,
        ]),
      ),
    );
    const states = events.flatMap((event) => (event.type === 'reasoning-end' ? [event.state] : []));
    expect(states).toEqual([
      { thought: { text: 'Hm.', options: { google: { start: true }, anthropic: { signature: 'end' } } } },
      { calls: [{ google: { call: true } }, null], text: { google: { text: true } } },
    ]);
  });

  /** What the model is sent for these items. */
  async function promptFor(items: readonly Item[], version = 'v4'): Promise<readonly JsonObject[]> {
    const seen: JsonObject[] = [];
    await eventsOf(aiSdkUpstream(mock([FINISH], version, seen)), { ...QUESTION, items });
    // The cast: the prompt is the upstream's own.
    return seen[0]?.prompt as readonly JsonObject[];
  }

  it('[E-06] gives signatures back to the calls and the text that had them', async () => {
    const state = { calls: [{ google: { s: 'a' } }, null], text: { google: { s: 't' } } };
    const call = (id: string): Item => ({ type: 'function_call', call_id: id, name: 'look', arguments: '{}' });
    const output = (id: string): Item => ({ type: 'function_call_output', call_id: id, output: 'x' });
    const prompt = await promptFor([
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Here.' }] },
      ...[call('a'), call('b')],
      { type: 'reasoning', summary: [], providerState: state },
      ...[output('a'), output('b')],
    ]);
    expect(prompt[0]).toEqual({
      role: 'assistant',
      content: [
        { type: 'text', text: 'Here.', providerOptions: { google: { s: 't' } } },
        { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: {}, providerOptions: { google: { s: 'a' } } },
        { type: 'tool-call', toolCallId: 'b', toolName: 'look', input: {} },
      ],
    });
  });

  it('[E-06] puts what follows a call that holds its own output behind its result', async () => {
    const prompt = await promptFor([
      { type: 'mcp_call', id: 'mcp_1', server_label: 's', name: 'look', arguments: '{}', output: 'Blue.' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'It is blue.' }] },
    ]);
    expect(prompt.map(({ role }) => role)).toEqual(['assistant', 'tool', 'assistant']);
  });

  it('[E-06] sends a call that the provider ran with its result or not at all, and reads its last result alone', async () => {
    const use = { type: 'tool-call', toolCallId: 's', toolName: 'web_search', input: {}, providerExecuted: true };
    const result = {
      type: 'tool-result',
      toolCallId: 's',
      toolName: 'web_search',
      output: { type: 'json', value: [] },
    };
    const search = (providerState: JsonObject): Item => ({
      type: 'web_search_call',
      id: 'ws',
      status: 'completed',
      providerState,
    });
    expect(await promptFor([search({ call: use, result })])).toEqual([{ role: 'assistant', content: [use, result] }]);
    expect(await promptFor([search({ call: use })])).toEqual([]);
    const found = (url: string) => ({
      type: 'tool-result',
      toolCallId: 's',
      toolName: 'web_search',
      result: [{ url }],
    });
    const parts = [
      use,
      { ...found('https://early.example'), preliminary: true },
      found('https://last.example'),
      FINISH,
    ];
    const { events } = await eventsOf(aiSdkUpstream(mock(parts)));
    expect(events.flatMap((event) => (event.type === 'search-end' ? [event.sources] : []))).toEqual([
      [{ type: 'url', url: 'https://last.example' }],
    ]);
  });

  it.each([
    ['v2', { type: 'media', data: 'AAAA', mediaType: 'image/png' }, { type: 'text', text: 'https://a.example/b.pdf' }],
    [
      'v3',
      { type: 'image-data', data: 'AAAA', mediaType: 'image/png' },
      { type: 'file-url', url: 'https://a.example/b.pdf' },
    ],
    [
      'v4',
      { type: 'file', data: { type: 'data', data: 'AAAA' }, mediaType: 'image/png' },
      { type: 'file', data: { type: 'url', url: new URL('https://a.example/b.pdf') }, mediaType: 'application/pdf' },
    ],
  ])('[E-06] names files in results as %s does', async (version, image, file) => {
    const output = [
      { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
      { type: 'input_file', file_url: 'https://a.example/b.pdf' },
    ];
    const prompt = await promptFor(
      [
        { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output },
      ],
      version,
    );
    expect(prompt[1]).toMatchObject({ content: [{ output: { type: 'content', value: [image, file] } }] });
  });

  it.each([
    ['v2', undefined],
    ['v3', true],
    ['v4', true],
  ])('[E-06] tells %s of strict tools where it knows them', async (version, strict) => {
    const seen: JsonObject[] = [];
    const tools = [{ name: 'look', parameters: { type: 'object' }, strict: true }];
    await eventsOf(aiSdkUpstream(mock([FINISH], version, seen)), { ...QUESTION, tools });
    const [tool] = (seen[0]?.tools ?? []) as readonly JsonObject[];
    expect(tool?.strict).toBe(strict);
  });

  it('[E-06] asks no more often than the call allows', async () => {
    let asked = 0;
    const doStream = async () => {
      asked += 1;
      throw Object.assign(new Error('Busy.'), { name: 'AI_APICallError', statusCode: 503 });
    };
    const busy = { ...mock([]), doStream };
    const call = {
      signal: new AbortController().signal,
      headers: new Headers(),
      limits: LIMITS,
      note: () => {},
      retries: 0,
    };
    const stream = aiSdkUpstream(busy as AiSdkModel, { retries: 5 }).stream(QUESTION, call);
    await expect(stream[Symbol.asyncIterator]().next()).rejects.toMatchObject({ status: 503 });
    expect(asked).toBe(1);
  });

  it('[E-06] tells the provider when nobody reads any more', async () => {
    let aborted: AbortSignal | undefined;
    const endless = {
      ...mock([]),
      async doStream({ abortSignal }: { readonly abortSignal: AbortSignal }) {
        aborted = abortSignal;
        return {
          stream: new ReadableStream({ pull: (to) => to.enqueue({ type: 'text-delta', id: 't', delta: 'x' }) }),
        };
      },
    };
    const call = { signal: new AbortController().signal, headers: new Headers(), limits: LIMITS, note: () => {} };
    for await (const batch of aiSdkUpstream(endless as unknown as AiSdkModel).stream(QUESTION, call))
      if (batch.length > 0) break;
    expect(aborted?.aborted).toBe(true);
  });

  it('[E-06] cancels the stream that a provider begins when nobody waits for it any more', async () => {
    const asked = deferred();
    const opened = deferred<{ readonly stream: ReadableStream }>();
    const cancelled = deferred<unknown>();
    const doStream = () => {
      asked.resolve();
      return opened.promise;
    };
    const leaving = new AbortController();
    const call = { signal: leaving.signal, headers: new Headers(), limits: LIMITS, note: () => {} };
    const upstream = aiSdkUpstream({ ...mock([]), doStream } as AiSdkModel, { retries: 0 });
    const first = upstream.stream(QUESTION, call)[Symbol.asyncIterator]().next();
    await asked.promise;
    leaving.abort(new Error('Left.'));
    await expect(first).rejects.toThrow('Left.');
    opened.resolve({ stream: new ReadableStream({ cancel: cancelled.resolve }) });
    expect(String(await cancelled.promise)).toContain('Left.');
  });

  it.each(['v2', 'v3'])('speaks the version %s', async (version) => {
    const seen: JsonObject[] = [];
    const finish =
      version === 'v2'
        ? { type: 'finish', usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 }, finishReason: 'length' }
        : { ...FINISH, finishReason: { unified: 'length', raw: 'max' } };
    const image = { type: 'input_image', image_url: 'data:image/png;base64,AAAA' };
    const items = [{ type: 'message', role: 'user', content: [image] }];
    const { events } = await eventsOf(aiSdkUpstream(mock([finish], version, seen)), { ...QUESTION, items });
    expect([events.at(-1), seen[0]?.prompt]).toEqual([
      { type: 'finish', reason: 'length' },
      [{ role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: 'AAAA' }] }],
    ]);
  });

  it('finds the model by its name, and lists the names that the host gives', async () => {
    const app = await startApp({
      options: {
        upstream: aiSdkUpstream((name) => mock([{ type: 'text-delta', id: '0', delta: name }, FINISH]), {
          models: ['a', 'b'],
        }),
      },
    });
    closers.push(() => app.close());
    const made = await askForJson(app.url, { model: 'b', input: 'Hi.' });
    const { data } = (await (await fetch(`${app.url}/models`)).json()) as { data: readonly JsonObject[] };
    expect([made.output, data.map(({ id }) => id)]).toMatchObject([[{ content: [{ text: 'b' }] }], ['a', 'b']]);
  });

  it.each([
    ['an error of the stream', [{ type: 'error', error: new Error('socket') }], 'upstream_truncated'],
    ['a text', [{ type: 'error', error: 'Overloaded.' }], 'upstream_error'],
    [
      'an end without a reason',
      [{ ...FINISH, finishReason: { unified: 'other', raw: undefined } }],
      'upstream_truncated',
    ],
    ['no end', [{ type: 'text-delta', id: '0', delta: 'x' }], 'upstream_truncated'],
    ['rubbish', ['x', null, 7], 'upstream_truncated'],
  ])('fails after %s', async (_, parts, code) => {
    const upstream = aiSdkUpstream(mock(parts as readonly JsonObject[]));
    await expect(eventsOf(upstream)).rejects.toMatchObject({ code });
  });

  it('keeps the status and the pause of a refusal, and never the key', async () => {
    const refusing = {
      ...mock([]),
      doStream: () =>
        Promise.reject(
          Object.assign(new Error('No.'), {
            name: 'AI_APICallError',
            statusCode: 429,
            url: 'https://model.internal.example/v1',
            responseHeaders: { 'retry-after': '60' },
            responseBody:
              '{"error":{"message":"Slow down, sk-secret-1234567890 at model.internal.example.","code":"rate_limit_exceeded"}}',
          }),
        ),
    } as AiSdkModel;
    const error = await eventsOf(aiSdkUpstream(refusing)).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ status: 429, code: 'rate_limit_exceeded', headers: { 'retry-after': '60' } });
    expect(String(error)).not.toMatch(/sk-secret|internal/);
  });

  it('[E-06] shows no call for what turns out to be run by the provider', async () => {
    const search = { toolCallId: 's', toolName: 'web_search_preview' };
    const parts = [
      // The second version of OpenAI's provider says only at its end who runs a search.
      { type: 'tool-input-start', id: 's', toolName: 'web_search_preview' },
      { type: 'tool-input-end', id: 's' },
      { type: 'tool-call', ...search, input: '{"query":"sea"}', providerExecuted: true },
      { type: 'tool-result', ...search, result: [] },
      { type: 'text-delta', id: 't', delta: 'Blue.' },
      FINISH,
    ];
    const app = await startApp({ options: { upstream: aiSdkUpstream(mock(parts, 'v2')) } });
    closers.push(() => app.close());
    const { output } = await askForJson(app.url, { input: 'Hi.', tools: [LOOK] });
    expect(output.map(({ type }) => type)).toEqual(['web_search_call', 'message']);
  });

  it.each<[string, readonly JsonObject[], readonly (readonly [id: string, text: string])[]]>([
    [
      'what deltas have left out',
      [STARTED, { type: 'tool-input-delta', id: 'c', delta: '{"at":' }, LOOKED('sea')],
      [['c', 'sea']],
    ],
    ['a call whose deltas are none', [STARTED, { type: 'tool-input-delta', id: 'c' }, LOOKED('sea')], [['c', 'sea']]],
    ['a repeated call once', [LOOKED('sea'), LOOKED('sea')], [['c', 'sea']]],
    [
      'another call of the same id',
      [LOOKED('sea'), LOOKED('sky'), STARTED, LOOKED('sun')],
      [
        ['c', 'sea'],
        ['call_', 'sky'],
        ['call_', 'sun'],
      ],
    ],
  ])('[E-06] reads %s', async (_, parts, calls) => {
    const app = await startApp({ options: { upstream: aiSdkUpstream(mock([...parts, FINISH])) } });
    closers.push(() => app.close());
    const { response } = await askForStream(app.url, { input: 'Hi.', tools: [LOOK] });
    expect(response.output).toEqual(
      calls.map(([id, at]) =>
        expect.objectContaining({ call_id: expect.stringMatching(`^${id}`), arguments: JSON.stringify({ at }) }),
      ),
    );
  });

  it('[E-06] shows no image without bytes', async () => {
    const { events } = await eventsOf(
      aiSdkUpstream(mock([{ type: 'file', mediaType: 'image/png', data: '' }, FINISH])),
    );
    expect(events.map(({ type }) => type)).toEqual(['usage', 'finish']);
  });

  it('streams an agent that is wrapped as a model', async () => {
    const words = ['One ', 'two.'];
    const agent = mock([...words.map((delta) => ({ type: 'text-delta', id: '0', delta })), FINISH], 'v2');
    const app = await startApp({ options: { upstream: aiSdkUpstream(agent) } });
    closers.push(() => app.close());
    const text = JSON.stringify(await askForStream(app.url, { model: 'agent', input: 'Hi.' }));
    expect(text).toContain('One two.');
  });

  it('refuses what is no model when it is created', () => {
    const create = (model: unknown, options?: object) => () => aiSdkUpstream(model as AiSdkModel, options);
    expect(create('gpt-5')).toThrow(/must be one of the AI SDK, or a function, got 'gpt-5'/);
    expect(create({ ...mock([]), specificationVersion: 'v1' })).toThrow(/must be one of the AI SDK/);
    expect(create(mock([]), { retries: -1 })).toThrow(/retries must be a whole number/);
  });
});
