/**
 * What the Open Responses acceptance suite asserts over HTTP, of each example app: one test for each of its tests, under
 * their names. Not here: `response-output-phase-schema`, which asks no server.
 */
import type { JsonObject } from '../../src/protocol/record.ts';
import { clientRequests } from '../support/client-bodies.ts';
import { expectValidEvent, expectValidResponse } from '../support/open-responses-schema.ts';
import { describeShared } from '../support/shared.ts';
import { expectWireResponse, type WireResponse } from '../support/wire-schemas.ts';
import { EXAMPLES, type RunningExample } from './examples.ts';

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=';

let example: RunningExample;

const message = (role: string, content: unknown, more: JsonObject = {}): JsonObject => ({
  type: 'message',
  role,
  content,
  ...more,
});
const written = (...input: readonly JsonObject[]): JsonObject => ({ input });

/** As the suite: a bare fetch with a key. */
function post(body: JsonObject, path = '/responses'): Promise<Response> {
  return fetch(`${example.url}/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer k' },
    body: JSON.stringify({ model: 'fake-model', ...body }),
  });
}

/** The suite's first three assertions: 200, JSON, and the schema of the resource, none of whose 31 keys may be missing. */
async function resource(body: JsonObject): Promise<WireResponse> {
  const answer = await post(body);
  const type = answer.headers.get('content-type') ?? '';
  if (answer.status !== 200 || !type.includes('application/json')) throw new Error(`Got ${answer.status} ${type}.`);
  const response = await answer.json();
  expectValidResponse(response);
  return expectWireResponse(response);
}

const TOOL = {
  type: 'function',
  name: 'get_weather',
  description: 'Get the current weather for a location',
  parameters: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
};

describe.each(EXAMPLES)('the %s example', (_name, start) => {
  beforeAll(async () => {
    example = await start({});
  });
  afterAll(() => example.close());

  describe('the acceptance suite over HTTP', () => {
    it.each<readonly [string, JsonObject]>([
      ['basic-response', written(message('user', 'Say hello in exactly 3 words.'))],
      [
        'assistant-phase',
        written(
          message('assistant', 'I am looking.', { phase: 'commentary' }),
          message('assistant', 'It is blue.', { phase: 'final_answer' }),
          message('user', 'What did you find?'),
        ),
      ],
      ['system-prompt', written(message('system', 'You talk like a pirate.'), message('user', 'Say hello.'))],
      [
        'image-input',
        written(
          message('user', [
            { type: 'input_text', text: 'What is in this image?' },
            { type: 'input_image', image_url: PIXEL },
          ]),
        ),
      ],
      [
        'multi-turn',
        written(
          message('user', 'I am Alice.'),
          message('assistant', 'Hello Alice!'),
          message('user', 'What is my name?'),
        ),
      ],
    ])('[Q-02] [S-01] [S-03] %s', async (_, body) => {
      const { status, output, error } = await resource(body);
      expect([status, output.map(({ type }) => type), error]).toEqual(['completed', ['message'], null]);
    });

    it('[Q-02] [S-05] tool-calling', async () => {
      const { output, tools } = await resource({
        ...written(message('user', "What's the weather like in San Francisco?")),
        tools: [TOOL],
      });
      expect([output.some(({ type }) => type === 'function_call'), tools]).toEqual([true, [{ ...TOOL, strict: null }]]);
    });

    it('[Q-02] [S-02] streaming-response', async () => {
      const answer = await post({ ...written(message('user', 'Count from 1 to 5.')), stream: true });
      const events = await readAsTheSuiteDoes(answer);
      for (const event of events) expectValidEvent(event);
      const { response } = events.at(-1) as { readonly response?: unknown };
      expectValidResponse(response);
      const kinds = [...new Set(events.map(({ type }) => type))];
      expect([
        answer.status,
        expectWireResponse(response).status,
        kinds,
        events.map((event) => event.sequence_number),
      ]).toEqual([
        200,
        'completed',
        [
          'response.created',
          'response.in_progress',
          'response.output_item.added',
          'response.content_part.added',
          'response.output_text.delta',
          'response.output_text.done',
          'response.content_part.done',
          'response.output_item.done',
          'response.completed',
        ],
        [...events.keys()],
      ]);
    });

    it('[Q-02] [S-14] compact-response', async () => {
      const input = [message('user', 'Remember the code word: slate.'), message('user', 'Compress this conversation.')];
      const answer = await post({ input, prompt_cache_key: 'acceptance' }, '/responses/compact');
      const { object, output } = (await answer.json()) as {
        readonly object: string;
        readonly output: readonly JsonObject[];
      };
      expect([answer.status, object, output.filter(({ type }) => type === 'compaction')]).toEqual([
        200,
        'response.compaction',
        [{ id: expect.any(String), type: 'compaction', encrypted_content: expect.any(String) }],
      ]);
    });

    it('[Q-02] [S-14] compact-missing-model', async () => {
      const { status } = await post({ model: undefined, input: [message('user', 'Hi.')] }, '/responses/compact');
      expect([400, 422]).toContain(status);
    });
  });

  describeShared('the bodies that the suite was seen to send', () => {
    const bodies = clientRequests().filter(({ name, method }) => name.startsWith('compliance.') && method === 'POST');

    it.each(bodies)('[Q-02] [S-01] are answered: $name', async ({ body, path }) => {
      const answer = await post(body, path);
      const text = await answer.text();
      expect([answer.status, /"status":"completed"|"type":"compaction"/.test(text)]).toEqual([200, true]);
    });
  });
});

interface WireEvent extends JsonObject {
  readonly type: string;
}

/**
 * The suite's parser forgets at the end of each network chunk what the chunk began, and knows no carriage returns: an
 * event is lost unless it comes in one piece.
 */
async function readAsTheSuiteDoes(answer: Response): Promise<readonly WireEvent[]> {
  const events: WireEvent[] = [];
  let rest = '';
  for await (const chunk of answer.body ?? []) {
    const lines = `${rest}${Buffer.from(chunk).toString()}`.split('\n');
    rest = lines.pop() ?? '';
    events.push(...eventsIn(lines));
  }
  return events;
}

function eventsIn(lines: readonly string[]): readonly WireEvent[] {
  const events: WireEvent[] = [];
  let data = '';
  for (const line of lines) {
    if (line.startsWith('data: ')) data = line.slice('data: '.length);
    if (line !== '' || data === '') continue;
    if (data !== '[DONE]') events.push(JSON.parse(data));
    data = '';
  }
  return events;
}
