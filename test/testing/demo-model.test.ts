/** The demo model as a Chat Completions server, asked directly. */
import OpenAI from 'openai';
import { type DemoModel, startDemoModel } from '../../src/testing/index.ts';

let demo: DemoModel;
let client: OpenAI;

beforeAll(async () => {
  demo = await startDemoModel();
  client = new OpenAI({ baseURL: demo.baseURL, apiKey: 'any', maxRetries: 0 });
});
afterAll(() => demo.close());

const tool = {
  type: 'function',
  function: { name: 'lookUp', parameters: { type: 'object', properties: { term: { type: 'string' } } } },
} as const;

type Body = OpenAI.ChatCompletionCreateParamsNonStreaming;

function ask(body: Omit<Body, 'model'>) {
  return client.chat.completions.create({ model: 'demo', ...body });
}

/** The first choice, without the ids that are new each time. */
async function choiceOf(body: Omit<Body, 'model'>): Promise<unknown> {
  const { choices } = await ask(body);
  return choices.map(({ finish_reason, message: { content, tool_calls } }) => ({
    finish_reason,
    content,
    calls: tool_calls?.map((call) => (call.type === 'function' ? call.function : undefined)),
  }))[0];
}

describe('the demo model', () => {
  it('answers in one piece, with its usage', async () => {
    const { choices, usage } = await ask({ messages: [{ role: 'user', content: 'Hi.' }] });
    expect([choices[0]?.message.content, choices[0]?.finish_reason, usage]).toEqual([
      'Hello from the demo model. You wrote "Hi."',
      'stop',
      {
        prompt_tokens: 1,
        completion_tokens: 8,
        total_tokens: 9,
        completion_tokens_details: { reasoning_tokens: 0 },
      },
    ]);
  });

  it('streams, with usage after the last word whether asked for or not', async () => {
    const messages = [{ role: 'user', content: 'Hi.' }] as const;
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    const stream = await client.chat.completions.create({ model: 'demo', messages: [...messages], stream: true });
    for await (const chunk of stream) chunks.push(chunk);
    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
    expect([text, chunks.at(-1)?.usage?.total_tokens]).toEqual(['Hello from the demo model. You wrote "Hi."', 9]);
  });

  it.each(['Call lookUp with "ice".', 'Please look up "ice".', 'Use the tool for "ice".'])(
    'calls a tool when the user says: %s',
    async (content) => {
      expect(await choiceOf({ messages: [{ role: 'user', content }], tools: [tool] })).toEqual({
        finish_reason: 'tool_calls',
        content: null,
        calls: [{ name: 'lookUp', arguments: '{"term":"ice"}' }],
      });
    },
  );

  it('answers instead of calling again when the tool has answered', async () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'lookUp', arguments: '{}' } } as const;
    const choice = await choiceOf({
      tools: [tool],
      tool_choice: 'required',
      messages: [
        { role: 'user', content: 'Look up ice.' },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', content: 'frozen water' },
      ],
    });
    expect(choice).toEqual({
      finish_reason: 'stop',
      content: 'The tool answered "frozen water". Before that you wrote "Look up ice."',
      calls: undefined,
    });
  });

  it.each([
    ['Think about it.', undefined, true],
    ['Reason about it.', undefined, true],
    ['Hi.', 'low', true],
    ['Think about it.', 'none', false],
    ['Hi.', undefined, false],
  ] as const)('reasons about %j at effort %s: %s', async (content, reasoning_effort, reasons) => {
    const { choices } = await ask({
      messages: [{ role: 'user', content }],
      ...(reasoning_effort && { reasoning_effort }),
    });
    expect('reasoning_content' in (choices[0]?.message ?? {})).toBe(reasons);
  });

  it('counts reasoning in max_completion_tokens', async () => {
    const messages = [{ role: 'user', content: 'Think about it.' }] as const;
    const { choices, usage } = await ask({ messages: [...messages], max_completion_tokens: 3 });
    expect([choices[0]?.message.content, choices[0]?.finish_reason, usage?.completion_tokens]).toEqual([
      '',
      'length',
      3,
    ]);
  });

  it('answers a JSON object where one is wanted', async () => {
    const choice = await choiceOf({
      messages: [{ role: 'user', content: 'Hi.' }],
      response_format: { type: 'json_object' },
    });
    expect(choice).toEqual({ finish_reason: 'stop', content: '{"answer":"This is the demo model."}' });
  });

  it('refuses what is no chat request with an error in the envelope', async () => {
    const post = (path: string, body: string) => fetch(`${demo.baseURL}${path}`, { method: 'POST', body });
    const answers = await Promise.all([
      post('/chat/completions', '{'),
      post('/chat/completions', '{}'),
      post('/else', ''),
    ]);
    expect(
      await Promise.all(answers.map(async (answer) => [answer.status, JSON.parse(await answer.text()).error.message])),
    ).toEqual([
      [400, 'The request is not a chat completion request.'],
      [400, 'The request is not a chat completion request.'],
      [404, 'There is no POST /v1/else.'],
    ]);
  });
});
