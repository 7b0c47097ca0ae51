/** Hostile requests and hostile model servers: a clean answer in the envelope, and the process survives. */

import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import type { JsonObject } from '../../src/protocol/record.ts';
import { chatChunk, type FakeReply, type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import {
  answerTextIn,
  ask,
  askJson,
  askStream,
  errorIn,
  lastResponse,
  outcomeOf,
  parsed,
  parseStream,
  typesOf,
} from '../http/client.ts';
import { type App, startApp } from '../support/app.ts';
import { expectLinearWork } from '../support/linear-work.ts';
import { startMemoryProcess } from '../support/memory-process.ts';
import { tally } from './tally.ts';

const { tried } = tally('requests and answers');

let fake: FakeUpstream;
let app: App;

beforeAll(async () => {
  fake = await startFakeUpstream();
  app = await startApp({ upstream: fake });
});

afterAll(() => Promise.all([app.close(), fake.close()]));

/** After each attack, the process serves, and its objects are unchanged. */
afterEach(async () => {
  expect([(await askJson(app.url)).status, Object.keys(Object.prototype), 'polluted' in {}]).toEqual([
    'completed',
    [],
    false,
  ]);
  tried('a kind of request or answer');
});

/** Sends bytes as they are: status, and the error's code in an envelope that is checked. */
async function refusalOf(body: string | Uint8Array, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(`${app.url}/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
  const { code, param, message } = errorIn(parsed(await response.text()));
  return { status: response.status, type: response.headers.get('content-type'), code, param, message };
}

function nested(depth: number, open: string, close: string): string {
  return open.repeat(depth) + close.repeat(depth);
}

/** A sentence for people: no markup, no dump of a schema. */
const SENTENCE = /^(?!.*(<[a-z!/]|[{}\n])).{5,300}$/is;

const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };

describe('a hostile body', () => {
  it.each<[string, JsonObject, string, string | null]>([
    ['no model', { model: undefined }, 'missing_required_parameter', 'model'],
    ['a null model', { model: null }, 'invalid_type', 'model'],
    ['a number for a model', { model: 7 }, 'invalid_type', 'model'],
    ['an empty model', { model: '' }, 'invalid_value', 'model'],
    ['an object for a model', { model: { toString: 'x' } }, 'invalid_type', 'model'],
    ['a number for an input', { input: 7 }, 'invalid_type', 'input'],
    ['an object for an input', { input: { role: 'user' } }, 'invalid_type', 'input'],
    ['true for an input', { input: true }, 'invalid_type', 'input'],
    ['a null item', { input: [null] }, 'invalid_type', 'input[0]'],
    ['a text item', { input: ['Hi'] }, 'invalid_type', 'input[0]'],
    ['an array item', { input: [[]] }, 'invalid_type', 'input[0]'],
    ['an empty item', { input: [{}] }, 'missing_required_parameter', 'input[0].type'],
    ['a number for an item type', { input: [{ type: 7 }] }, 'invalid_type', 'input[0].type'],
    ['an unknown role', { input: [{ role: 'root', content: 'Hi' }] }, 'invalid_value', 'input[0].role'],
    ['__proto__ for a role', { input: [{ role: '__proto__', content: 'Hi' }] }, 'invalid_value', 'input[0].role'],
    ['a number for content', { input: [{ role: 'user', content: 7 }] }, 'invalid_type', 'input[0].content'],
    [
      'an unknown part',
      { input: [{ role: 'user', content: [{ type: 'x' }] }] },
      'invalid_value',
      'input[0].content[0].type',
    ],
    [
      'a part without a type',
      { input: [{ role: 'user', content: [{ text: 'Hi' }] }] },
      'missing_required_parameter',
      'input[0].content[0].type',
    ],
    ['a null part', { input: [{ role: 'user', content: [null] }] }, 'invalid_type', 'input[0].content[0]'],
    [
      'a number for a text',
      { input: [{ role: 'user', content: [{ type: 'input_text', text: 7 }] }] },
      'invalid_type',
      'input[0].content[0].text',
    ],
    [
      'an image by file id',
      { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] },
      'unsupported_parameter',
      'input[0].content[0].file_id',
    ],
    ['a call without a name', { input: [{ ...call, name: undefined }] }, 'missing_required_parameter', 'input[0].name'],
    ['a call with an empty call_id', { input: [{ ...call, call_id: '' }] }, 'invalid_value', 'input[0].call_id'],
    [
      'a call with an object for arguments',
      { input: [{ ...call, arguments: {} }] },
      'invalid_type',
      'input[0].arguments',
    ],
    ['a call without an output', { input: [call] }, 'tool_output_missing', 'input'],
    [
      'an output without a call',
      { input: [{ type: 'function_call_output', call_id: 'c', output: '' }] },
      'tool_call_not_found',
      'input',
    ],
    [
      'an output for __proto__',
      { input: [{ type: 'function_call_output', call_id: '__proto__', output: '' }] },
      'tool_call_not_found',
      'input',
    ],
    [
      'an output that is a number',
      { input: [call, { type: 'function_call_output', call_id: 'c', output: 7 }] },
      'invalid_type',
      'input[1].output',
    ],
    ['a reference without an id', { input: [{ type: 'item_reference' }] }, 'missing_required_parameter', 'input[0].id'],
    ['a text for tools', { tools: 'all' }, 'invalid_type', 'tools'],
    ['a null tool', { tools: [null] }, 'invalid_type', 'tools[0]'],
    ['a tool without a type', { tools: [{ name: 'f' }] }, 'missing_required_parameter', 'tools[0].type'],
    ['a function without a name', { tools: [{ type: 'function' }] }, 'missing_required_parameter', 'tools[0].name'],
    [
      'a function with a long name',
      { tools: [{ type: 'function', name: 'x'.repeat(65) }] },
      'string_above_max_length',
      'tools[0].name',
    ],
    [
      'a function with text for parameters',
      { tools: [{ type: 'function', name: 'f', parameters: '{}' }] },
      'invalid_type',
      'tools[0].parameters',
    ],
    [
      'an array of parameters',
      { tools: [{ type: 'function', name: 'f', parameters: [] }] },
      'invalid_type',
      'tools[0].parameters',
    ],
    ['an unknown tool_choice', { tool_choice: 'maybe' }, 'invalid_type', 'tool_choice'],
    ['a number for a tool_choice', { tool_choice: 7 }, 'invalid_type', 'tool_choice'],
    [
      'a tool_choice of __proto__',
      { tool_choice: { type: 'function', name: '__proto__' } },
      'invalid_value',
      'tool_choice',
    ],
    ['required without tools', { tool_choice: 'required' }, 'invalid_value', 'tool_choice'],
    ['allowed_tools without tools', { tool_choice: { type: 'allowed_tools' } }, 'invalid_value', 'tool_choice'],
    ['a text for stream', { stream: 'true' }, 'invalid_type', 'stream'],
    ['a number for store', { store: 1 }, 'invalid_type', 'store'],
    ['a hot temperature', { temperature: 2.1 }, 'decimal_above_max_value', 'temperature'],
    ['a temperature of 3', { temperature: 3 }, 'decimal_above_max_value', 'temperature'],
    ['a temperature of -1', { temperature: -1 }, 'decimal_below_min_value', 'temperature'],
    ['a cold temperature', { temperature: -0.1 }, 'decimal_below_min_value', 'temperature'],
    ['an endless temperature', { temperature: '1e999' }, 'invalid_type', 'temperature'],
    ['a high top_p', { top_p: 2 }, 'decimal_above_max_value', 'top_p'],
    ['half a token', { max_output_tokens: 16.5 }, 'invalid_type', 'max_output_tokens'],
    ['too few tokens', { max_output_tokens: 15 }, 'integer_below_min_value', 'max_output_tokens'],
    ['unsafe tokens', { max_output_tokens: 2 ** 60 }, 'integer_above_max_value', 'max_output_tokens'],
    ['no tool calls', { max_tool_calls: 0 }, 'integer_below_min_value', 'max_tool_calls'],
    ['21 logprobs', { top_logprobs: 21 }, 'integer_above_max_value', 'top_logprobs'],
    ['a text for include', { include: 'all' }, 'invalid_value', 'include'],
    ['an object for include', { include: { length: 1 } }, 'invalid_value', 'include'],
    ['an array for metadata', { metadata: [] }, 'invalid_type', 'metadata'],
    ['a number in metadata', { metadata: { a: 7 } }, 'invalid_type', 'metadata.a'],
    ['long metadata', { metadata: { a: 'x'.repeat(513) } }, 'string_above_max_length', 'metadata.a'],
    ['a text for text', { text: 'json' }, 'invalid_type', 'text'],
    ['an unknown format', { text: { format: { type: 'xml' } } }, 'invalid_value', 'text.format.type'],
    [
      'a schema without a name',
      { text: { format: { type: 'json_schema', schema: {} } } },
      'missing_required_parameter',
      'text.format.name',
    ],
    ['a text for reasoning', { reasoning: 'high' }, 'invalid_type', 'reasoning'],
    ['a number for an effort', { reasoning: { effort: 9 } }, 'invalid_type', 'reasoning.effort'],
    ['an unknown truncation', { truncation: 'middle' }, 'invalid_value', 'truncation'],
    ['a number for a previous response', { previous_response_id: 7 }, 'invalid_type', 'previous_response_id'],
    ['an array for a previous response', { previous_response_id: ['a'] }, 'invalid_type', 'previous_response_id'],
    [
      '__proto__ for a previous response',
      { previous_response_id: '__proto__' },
      'previous_response_not_found',
      'previous_response_id',
    ],
    [
      'a path for a previous response',
      { previous_response_id: '../../etc/passwd' },
      'previous_response_not_found',
      'previous_response_id',
    ],
    [
      'a NUL in a previous response',
      { previous_response_id: 'resp_\0' },
      'previous_response_not_found',
      'previous_response_id',
    ],
    ['background', { background: 'yes' }, 'invalid_type', 'background'],
    ['a conversation without an id', { conversation: {} }, 'invalid_type', 'conversation'],
    ['a prompt template', { prompt: { id: 'p' } }, 'unsupported_parameter', 'prompt'],
    [
      'a long safety_identifier',
      { safety_identifier: 'x'.repeat(129) },
      'string_above_max_length',
      'safety_identifier',
    ],
  ])('[P-11][P-14] is a 400 that names the field: %s', async (_, body, code, param) => {
    const text = JSON.stringify({ model: 'm', input: 'Hi', ...body });
    const seen = await refusalOf(text);
    expect(seen).toEqual({
      status: 400,
      type: 'application/json; charset=utf-8',
      code,
      param,
      message: expect.stringMatching(SENTENCE),
    });
  });

  it.each<[string, string]>([
    ['null', 'null'],
    ['a number', '42'],
    ['a text', '"Hi"'],
    ['an array', '[]'],
    ['nothing', ''],
    ['blanks', '   '],
    ['cut JSON', '{"model":"m","input":"Hi'],
    ['two values', '{}{}'],
    ['a trailing comma', '{"model":"m",}'],
    ['single quotes', "{'model':'m'}"],
    ['NaN', '{"model":"m","temperature":NaN}'],
    ['a comment', '{"model":"m"/**/}'],
    ['HTML', '<script>alert(1)</script>'],
    ['a NUL', '\0'],
    ['a bare control character', '{"model":"m\n"}'],
    ['100,000 open brackets', '['.repeat(100_000)],
    ['100,000 nested arrays', nested(100_000, '[', ']')],
    ['1,000 nested objects', `${'{"a":'.repeat(1000)}1${'}'.repeat(1000)}`],
    ['100,000 nested objects', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
    ['100,000 nested arrays as an input', `{"model":"m","input":${nested(100_000, '[', ']')}}`],
    [
      '100,000 nested objects as parameters',
      `{"model":"m","input":"Hi","tools":[{"type":"function","name":"f","parameters":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}]}`,
    ],
    ['10,000 nested arrays in metadata', `{"model":"m","input":"Hi","metadata":{"a":${nested(10_000, '[', ']')}}}`],
    ['a million nulls as an input', `{"model":"m","input":[${'null,'.repeat(999_999)}null]}`],
    ['a million numbers as tools', `{"model":"m","input":"Hi","tools":[${'1,'.repeat(999_999)}1]}`],
    [
      '100,000 metadata',
      `{"model":"m","input":"Hi","metadata":{${Array.from({ length: 100_000 }, (_, key) => `"${key}":""`).join()}}}`,
    ],
  ])('[P-11][P-14] is a 400 in the envelope: %s', async (_, text) => {
    const { status, type, message } = await refusalOf(text);
    expect([status, type, message]).toEqual([400, 'application/json; charset=utf-8', expect.stringMatching(SENTENCE)]);
  });

  it.each<[string, string | Uint8Array, Readonly<Record<string, string>>, number, string]>([
    ['a form', 'model=m', { 'content-type': 'application/x-www-form-urlencoded' }, 415, 'unsupported_media_type'],
    [
      'plain text, as a browser sends it unasked',
      '{}',
      { 'content-type': 'text/plain' },
      415,
      'unsupported_media_type',
    ],
    ['a multipart form', '--x--', { 'content-type': 'multipart/form-data; boundary=x' }, 415, 'unsupported_media_type'],
    ['a type that is none', '{}', { 'content-type': 'nonsense' }, 415, 'unsupported_media_type'],
    [
      'a charset nobody knows',
      '{}',
      { 'content-type': 'application/json; charset=klingon' },
      415,
      'unsupported_media_type',
    ],
    ['an encoding nobody knows', '{}', { 'content-encoding': 'rot13' }, 415, 'unsupported_media_type'],
    ['gzip that is none', '{}', { 'content-encoding': 'gzip' }, 400, 'invalid_json'],
    [
      'gzip that is cut',
      gzipSync('{"model":"m"}').subarray(0, 15),
      { 'content-encoding': 'gzip' },
      400,
      'invalid_json',
    ],
    [
      'a gzip bomb',
      gzipSync(Buffer.alloc(256 * 1024 * 1024, ' ')),
      { 'content-encoding': 'gzip' },
      413,
      'request_too_large',
    ],
    ['bytes that are not UTF-8', Buffer.from([0x7b, 0xff, 0xfe, 0x7d]), {}, 400, 'invalid_json'],
    ['UTF-16 without saying so', Buffer.from('{"model":"m"}', 'utf16le'), {}, 400, 'invalid_json'],
  ])('[P-11][P-14] is refused in the envelope: %s', async (_, body, headers, status, code) => {
    const before = process.memoryUsage().rss;
    const seen = await refusalOf(body, headers);
    const grown = (process.memoryUsage().rss - before) / 1024 / 1024;
    expect([seen.status, seen.type, seen.code]).toEqual([status, 'application/json; charset=utf-8', code]);
    expect(grown).toBeLessThan(200);
  });

  it('[P-11] is accepted as gzip within the limit', async () => {
    const body = gzipSync(JSON.stringify({ model: 'm', input: 'Hi' }));
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    const { status } = await fetch(`${app.url}/responses`, { method: 'POST', headers, body });
    expect(status).toBe(200);
  });

  const poisoned = (poison: string) => {
    const item = `{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi",${poison}}],${poison}}`;
    const tool = `{"type":"function","name":"__proto__","parameters":{"type":"object","properties":{${poison}}},${poison}}`;
    return `{"model":"m","input":[${item}],"tools":[${tool}],"metadata":{"constructor":"b"},"reasoning":{${poison}},"text":{${poison}},${poison}}`;
  };

  it('[P-14] with constructor everywhere changes no object of the process, and reaches the model as sent', async () => {
    const poison = '"constructor":{"prototype":{"polluted":true}}';
    const outcome = await outcomeOf(app.url, await ask(app.url, poisoned(poison)));
    const { tools, metadata } = (fake.requests.at(-1)?.body ?? {}) as JsonObject;
    expect(outcome.ending).toBe('completed');
    expect(JSON.stringify([tools, metadata])).toBe(
      `[[{"type":"function","function":{"name":"__proto__","parameters":{"type":"object","properties":{${poison}}}}}],{"constructor":"b"}]`,
    );
  });

  it('[F-16] [P-14] with __proto__ everywhere is refused, and changes no object of the process', async () => {
    const { status, code, message } = await refusalOf(poisoned('"__proto__":{"polluted":true}'));
    expect([status, code, message]).toEqual([400, 'invalid_value', expect.stringContaining("'__proto__'")]);
  });

  it.each([
    ['numbers as tools', '{"model":"m","input":"Hi","tools":[', '1,'],
    ['numbers as an input', '{"model":"m","input":[', '1,'],
  ])('[P-14] of 32 MiB with millions of %s neither ends nor blocks the process', async (_, head, piece) => {
    const body = `${head}${piece.repeat(Math.floor((32 * 1024 * 1024 - 100) / piece.length))}1]}`;
    const hit = await startMemoryProcess(fake.baseURL, ['--max-old-space-size=2048']);
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    const answer = await fetch(`${hit.url}/responses`, init).catch(String);
    const seen = typeof answer === 'string' ? answer : [answer.status, errorIn(parsed(await answer.text())).type];
    await hit.stop();
    expect(seen).toEqual([413, 'invalid_request_error']);
  });

  it.each<[string, (ids: readonly string[]) => readonly JsonObject[], number]>([
    ['messages', (ids) => ids.map((content, index) => ({ role: index % 2 ? 'assistant' : 'user', content })), 200],
    [
      'calls with their outputs in reverse',
      (ids) => [
        ...ids.map((call_id) => ({ ...call, call_id })),
        ...ids.toReversed().map((call_id) => ({ type: 'function_call_output', call_id, output: 'x' })),
      ],
      200,
    ],
    ['calls of one id', (ids) => ids.map(() => call), 400],
    [
      'hosted calls',
      (ids) => ids.map((id) => ({ type: 'mcp_call', id, name: 'f', arguments: '{}', output: 'x' })),
      200,
    ],
    ['references', (ids) => ids.map((id) => ({ type: 'item_reference', id })), 404],
    ['unknown items', (ids) => ids.map((id) => ({ type: 'unknown', id })), 200],
  ])('[P-14] of thousands of items takes linear work: %s', async (_, inputOf, status) => {
    await expectLinearWork(8000, async (size) => {
      const response = await ask(app.url, { input: inputOf(Array.from({ length: size }, (_, at) => `call_${at}`)) });
      await response.text();
      expect(response.status).toBe(status);
    });
  });
});

/** A valid body that uses every field. */
const VALID: JsonObject = {
  model: 'm',
  input: [
    { role: 'system', content: 'Be brief.' },
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: 'Hi' },
        { type: 'input_image', image_url: 'http://x/y.png', detail: 'low' },
      ],
    },
    { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }] },
    { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'ok' }] },
    { type: 'custom_tool_call', call_id: 'c2', name: 'g', input: 'x' },
    { type: 'custom_tool_call_output', call_id: 'c2', output: 'ok' },
    { type: 'mcp_call', id: 'mcp_1', name: 'h', arguments: '{}', output: 'ok', error: null },
    { type: 'code_interpreter_call', id: 'ci_1', code: '1', outputs: [{ type: 'logs', logs: '1' }] },
    { type: 'item_reference', id: 'msg_1' },
    {
      type: 'message',
      role: 'assistant',
      id: 'msg_2',
      content: [{ type: 'output_text', text: 'Hello', annotations: [] }],
    },
    { role: 'user', content: 'Go on.' },
  ],
  instructions: 'Be kind.',
  tools: [
    { type: 'function', name: 'f', description: 'd', parameters: { type: 'object', properties: {} }, strict: true },
    { type: 'web_search' },
    { type: 'mcp', server_label: 's', server_url: 'https://x' },
  ],
  tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] },
  parallel_tool_calls: true,
  max_tool_calls: 3,
  max_output_tokens: 100,
  temperature: 1,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  top_logprobs: 1,
  include: ['message.output_text.logprobs'],
  text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true }, verbosity: 'low' },
  reasoning: { effort: 'low', summary: 'auto' },
  truncation: 'auto',
  metadata: { a: 'b' },
  service_tier: 'auto',
  safety_identifier: 's',
  prompt_cache_key: 'k',
  user: 'u',
  store: true,
  stream: false,
  background: false,
};

type Path = readonly (string | number)[];

/** The path of every place in a JSON value. */
function pathsOf(value: unknown, path: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  const below = Object.entries(value).flatMap(([key, child]) =>
    pathsOf(child, [...path, Array.isArray(value) ? Number(key) : key]),
  );
  return path.length === 0 ? below : [path, ...below];
}

/** A copy with another value in one place; `undefined` removes it. */
function changed(value: unknown, [key, ...rest]: Path, to: unknown): unknown {
  if (key === undefined) return to;
  const copy = (Array.isArray(value) ? [...value] : { ...(value as JsonObject) }) as Record<string, unknown>;
  copy[key] = changed(copy[key], rest, to);
  return copy;
}

const odd = fc.oneof(
  fc.constantFrom(
    null,
    undefined,
    true,
    '',
    0,
    -1,
    1e308,
    '__proto__',
    'constructor',
    [],
    {},
    [null],
    [[]],
    '\u0000',
    '\ud800',
  ),
  fc.jsonValue({ maxDepth: 4 }),
);

const ALLOWED: ReadonlySet<number> = new Set([200, 400, 413, 415]);

/** Throws unless the answer is a response or an error in the envelope, with the status of a client's mistake. */
async function expectCleanAnswer(response: Response): Promise<void> {
  tried('a valid body that was changed, or any bytes');
  if (!ALLOWED.has(response.status)) throw new Error(`status ${response.status}: ${await response.text()}`);
  const text = await response.text();
  if (response.status === 200) return expectWhole(text);
  const { code, message } = errorIn(parsed(text));
  if (typeof code !== 'string' || typeof message !== 'string' || message.includes('<html'))
    throw new Error(`${message}`);
}

/** Whether the strict reader of frames, for which U+2028 and U+2029 end a line, accepts the text. */
function isOneLine(text: string): boolean {
  return !/[\u2028\u2029]/.test(text);
}

/** Throws unless the text is a completed response, as JSON or as the end of a stream, or one that is queued. */
function expectWhole(text: string): void {
  const response = text.startsWith('event: ') ? lastResponse(parseStream(text)) : parsed(text);
  const isWhole = response.status === 'completed' || (response.background === true && response.status === 'queued');
  if (response.object !== 'response' || !isWhole) throw new Error(`Not a response: ${text}`);
}

describe('any change to a valid body', () => {
  const paths = pathsOf(VALID);

  it('[P-11] begins with an accepted one', async () => {
    expect((await ask(app.url, VALID)).status).toBe(200);
  });

  it.each([[null], [7], ['x'], [true], [[]], [{}], [[{}]], ['__proto__']])(
    '[P-11][P-14][Q-06] is answered in the envelope: %j in every place',
    async (value) => {
      for (const path of paths) await expectCleanAnswer(await ask(app.url, changed(VALID, path, value) as JsonObject));
      expect(paths.length).toBeGreaterThan(100);
    },
    30_000,
  );

  it('[P-11][P-14][Q-06] is answered in the envelope: any values in up to three places, streamed or not', async () => {
    const changes = fc.array(fc.tuple(fc.constantFrom(...paths), odd), { minLength: 1, maxLength: 3 });
    const law = fc.asyncProperty(changes, fc.boolean(), async (list, stream) => {
      const body = list.reduce<unknown>(
        (value, [path, to]) => {
          try {
            return changed(value, path, to);
          } catch {
            return value;
          }
        },
        { ...VALID, stream },
      );
      await expectCleanAnswer(await ask(app.url, JSON.stringify(body)));
    });
    await fc.assert(law, { numRuns: 400 });
  });

  it('[P-11][P-14][Q-06] is answered in the envelope: any text, and any bytes', async () => {
    const bodies = fc.oneof(fc.string({ unit: 'binary' }), fc.json(), fc.uint8Array({ minLength: 1 }));
    const law = fc.asyncProperty(bodies, async (body) => {
      const headers = { 'content-type': 'application/json' };
      await expectCleanAnswer(await fetch(`${app.url}/responses`, { method: 'POST', headers, body }));
    });
    await fc.assert(law, { numRuns: 200 });
  });
});

describe('a hostile path or query', () => {
  it.each([
    ['__proto__', ''],
    ['constructor', ''],
    ['resp_%00', ''],
    ['..%2F..%2Fetc%2Fpasswd', ''],
    ['x'.repeat(8000), ''],
    ['resp_x', '?stream=true&__proto__[polluted]=1'],
    ['resp_x/input_items', '?limit=1e9'],
    ['resp_x/input_items', '?after[__proto__][polluted]=1&order[]=x'],
  ])('[P-14] is an error in the envelope: /responses/%s%s', async (path, query) => {
    const response = await fetch(`${app.url}/responses/${path}${query}`);
    const { code } = errorIn(parsed(await response.text()));
    expect([404, 400]).toContain(response.status);
    expect(code).toEqual(expect.any(String));
  });

  it.each([
    'limit=0',
    'limit=101',
    'limit=-1',
    'limit=1.5',
    'limit=x',
    'limit=1&limit=2',
    'order=up',
    'order=asc&order=asc',
  ])('[P-11] is a 400: input_items?%s', async (query) => {
    const { id } = await askJson(app.url);
    const response = await fetch(`${app.url}/responses/${id}/input_items?${query}`);
    expect([response.status, errorIn(parsed(await response.text())).param]).toEqual([400, query.split('=')[0]]);
  });
});

describe('a hostile model server', () => {
  const FINISH = chatChunk({}, { finish_reason: 'tool_calls' });
  const GOOD: FakeReply = { body: chatChunk({ content: 'Hi' }, { finish_reason: 'stop' }) };

  async function outputOf(...entries: readonly (readonly unknown[])[]): Promise<readonly JsonObject[]> {
    const body = entries.map((tool_calls) => chatChunk({ tool_calls })).join('') + FINISH;
    const whole = await startApp({ upstream: fake });
    fake.reply({ body }, { body }, GOOD);
    const streamed = lastResponse(await askStream(whole.url)).output as readonly JsonObject[];
    const { output } = await askJson(whole.url);
    await whole.close();
    expect(output).toEqual(streamed.map((item) => ({ ...item, id: expect.any(String), call_id: expect.any(String) })));
    return streamed.map(({ name, arguments: text, status }) => ({ name, arguments: text, status }));
  }

  const entry = (index: unknown, name = 'f', text = '{"a":1}') => ({
    index,
    id: `c${name}`,
    type: 'function',
    function: { name, arguments: text },
  });
  const done = (name = 'f', text = '{"a":1}') => ({ name, arguments: text, status: 'completed' });

  it.each([[1e9], [-1], [1e308], [0.5], [null], ['NaN'], ['0'], [{}], [[]], [Number.MAX_SAFE_INTEGER]])(
    '[P-14] may number its tool calls %j',
    async (index) => {
      expect(await outputOf([entry(index)])).toEqual([done()]);
    },
  );

  it('[P-14] may number two calls a billion apart', async () => {
    expect(await outputOf([entry(0, 'f'), entry(1e9, 'g')])).toEqual([done('f'), done('g')]);
  });

  it('[P-05] may omit the arguments of several calls, none of which is lost', async () => {
    const none = (index: number, name: string) => [entry(index, name, '')];
    const empty = (name: string) => done(name, '{}');
    expect(await outputOf(none(0, 'f'), none(1, 'g'), none(2, 'h'))).toEqual([empty('f'), empty('g'), empty('h')]);
  });

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', '<script>', 'a\nb', 'é🙂', ' '])(
    '[P-14] may call a tool %j',
    async (name) => {
      expect(await outputOf([entry(0, name)])).toEqual([done(name)]);
    },
  );

  it.each(['not JSON', '[1]', '{"__proto__":{"polluted":true}}', '{"a":', '"'])(
    '[P-14] may write the arguments %j, which reach the client as they are',
    async (text) => {
      expect(await outputOf([entry(0, 'f', text)])).toEqual([done('f', text)]);
    },
  );

  it.each<[string, readonly unknown[]]>([
    ['null entries', [null, 7, 'x', [], {}]],
    ['entries without a function', [{ index: 0, id: 'c' }]],
    ['a function that is null', [{ index: 0, id: 'c', function: null }]],
    ['a name that is a number', [{ index: 0, id: 'c', function: { name: 7, arguments: '{}' } }]],
    ['a name that is empty', [entry(0, '')]],
  ])('[P-14] cannot make a call without a name, which could not be answered or replayed: %s', async (_, entries) => {
    fake.reply({ body: chatChunk({ tool_calls: entries }) + FINISH }, GOOD);
    const { output } = await askJson(app.url);
    expect((output as readonly JsonObject[]).filter(({ type }) => type === 'function_call')).toEqual([]);
  });

  it('[P-14] may send thousands of calls, which take linear work', async () => {
    await expectLinearWork(8000, async (size) => {
      const chunks = Array.from({ length: size }, (_, index) => chatChunk({ tool_calls: [entry(index, `f${index}`)] }));
      fake.reply({ body: chunks.join('') + FINISH });
      const { output } = await askJson(app.url);
      expect((output as readonly JsonObject[]).length).toBe(size);
    });
    fake.reply(GOOD);
  });

  it('[P-14] cannot break out of a frame by its text', async () => {
    const text = '\n\ndata: [DONE]\n\nevent: response.completed\r\ndata: {}\u2028\u2029\0</script>';
    fake.reply({ body: chatChunk({ content: text }, { finish_reason: 'stop', model: 'a\nb' }) }, GOOD);
    const stream = await askStream(app.url);
    expect([typesOf(stream.events).at(-1), answerTextIn(lastResponse(stream))]).toEqual(['completed', text]);
  });

  it('[P-14][Q-06] may send any chunk: the outcome is clean and keeps every law', async () => {
    const value = fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme-ascii' });
    const text = fc.oneof(fc.string({ unit: 'grapheme' }).filter(isOneLine), value);
    const named = { name: fc.string({ minLength: 1 }), arguments: text };
    const called = fc.record({ index: value, id: text, type: value, function: fc.record(named) });
    const words = { content: text, refusal: text, reasoning: text, reasoning_content: text, annotations: value };
    const delta = fc.record({ ...words, role: value, tool_calls: fc.array(called) }, { requiredKeys: [] });
    const choice = fc.record({ index: fc.constantFrom(0, 0, 0, 1), delta, logprobs: value, finish_reason: value });
    const chunk = fc.oneof(
      value,
      fc.record({ choices: fc.array(choice), usage: value }, { requiredKeys: ['choices'] }),
    );
    const law = fc.asyncProperty(fc.array(chunk, { maxLength: 4 }), fc.boolean(), async (chunks, stream) => {
      const written = chunks.map((sent) => `data: ${JSON.stringify(sent)}\n\n`).join('');
      fake.reply({ body: `${written}data: [DONE]\n\n` });
      await outcomeOf(app.url, await ask(app.url, { stream }));
      tried('any chunks');
    });
    await fc.assert(law, { numRuns: 300 });
    fake.reply(GOOD);
  });
});
