/** `POST /responses/input_tokens` over HTTP. */

import OpenAI from 'openai';
import { functionTools } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { type RequestApp, type RequestAppSetup, startRequestApp } from '../support/request-app.ts';

let app: RequestApp;

/** One token for each character, so that sums can be checked by hand. */
const BY_CHARACTER: RequestAppSetup = { countTokens: (text) => text.length };

afterEach(() => app.close());

async function count(body: JsonObject): Promise<readonly [number, JsonObject]> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const response = await fetch(`${app.url}/responses/input_tokens`, init);
  return [response.status, JSON.parse(await response.text())];
}

async function tokens(body: JsonObject): Promise<number> {
  const [, { input_tokens }] = await count(body);
  return Number(input_tokens);
}

describe('POST /responses/input_tokens', () => {
  it('[S-14] answers in OpenAI’s form, without asking a model, and needs no field', async () => {
    app = await startRequestApp(BY_CHARACTER);
    const client = new OpenAI({ baseURL: app.url, apiKey: 'k', maxRetries: 0 });
    const counted = await client.responses.inputTokens.count({ model: 'm', input: 'Hello' });
    expect([counted, await count({}), app.upstream.requests]).toEqual([
      { object: 'response.input_tokens', input_tokens: 5 + 4 + 3 },
      [200, { object: 'response.input_tokens', input_tokens: 3 }],
      [],
    ]);
  });

  it('[S-14] counts instructions, items, tools and schemas, and images at a fixed price', async () => {
    app = await startRequestApp(BY_CHARACTER);
    const plain = await tokens({ input: 'Hello' });
    const image = { type: 'input_image', image_url: `data:image/png;base64,${'A'.repeat(9000)}` };
    const tool = { type: 'function', name: 'look', parameters: {} };
    const format = { type: 'json_schema', name: 'a', schema: { type: 'object' } };
    const more = await Promise.all([
      tokens({ input: 'Hello', instructions: 'Be brief' }),
      tokens({ input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hello' }, image] }] }),
      tokens({ input: 'Hello', tools: [tool] }),
      tokens({ input: 'Hello', text: { format } }),
    ]);
    expect(more.map((tokens) => tokens - plain)).toEqual([
      'Be brief\n'.length + 4,
      765,
      '\n{"name":"look","parameters":{}}'.length,
      '\n{"type":"object"}'.length,
    ]);
  });

  it('[S-14] counts what came before, and the tools that the server adds', async () => {
    const tools = functionTools({ look: { description: 'Looks.', execute: () => 'seen' } });
    app = await startRequestApp({ ...BY_CHARACTER, tools });
    const { body } = await app.create({ input: 'Hi' });
    const alone = await tokens({ input: 'What?' });
    const continued = await tokens({ input: 'What?', previous_response_id: body.id });
    expect([alone > 'What?'.length + 7, continued - alone]).toEqual([true, 'Hi\nHello!\n'.length + 8]);
  });

  it('[S-14] is wrong in the same way as POST /responses is', async () => {
    app = await startRequestApp(BY_CHARACTER);
    const answers = await Promise.all([
      count({ previous_response_id: 'resp_none' }),
      count({ input: [{ type: 'function_call_output', call_id: 'c1', output: '' }] }),
      count({ input: 7 }),
      count({ tool_choice: 'required' }),
    ]);
    expect(answers.map(([status, { error }]) => [status, (error as JsonObject).code])).toEqual([
      [400, 'previous_response_not_found'],
      [400, 'tool_call_not_found'],
      [400, 'invalid_type'],
      [400, 'invalid_value'],
    ]);
  });

  it('[F-12] counts as a turn, and gives its place back when its client leaves', async () => {
    const stop = new AbortController();
    let begin = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const never = () => {
      begin();
      return new Promise<number>(() => {});
    };
    const count = (text: string) => (text === 'never' ? never() : text.length);
    app = await startRequestApp({ countTokens: count, limits: { turns: { concurrentTurns: 1 } } });
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"input":"never"}' };
    const leaving = fetch(`${app.url}/responses/input_tokens`, { ...init, signal: stop.signal }).catch(() => {});
    await begun;
    const [refused] = await countShort();
    stop.abort();
    await leaving;
    let [status] = await countShort();
    while (status === 429) [status] = await countShort();
    expect([refused, status]).toEqual([429, 200]);
  });
});

const countShort = () => count({ input: 'Hi' });
