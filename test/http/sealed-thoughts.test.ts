/** Thoughts of Chat models that leave this server sealed, for clients that keep their own history, and come back. */

import type { ChatCompletionsOptions } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { chatChunk, chatStream } from '../../src/testing/index.ts';
import { finalOf, type RequestApp, type RequestAppSetup, startRequestApp } from '../support/request-app.ts';

const KEY = 'a secret of this test';
const TENANTS = {
  scope: (request: { headers: Readonly<Record<string, unknown>> }) => String(request.headers['x-tenant'] ?? ''),
};
const CALL = { index: 0, id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } };
const THOUGHT = chatStream({ reasoning_content: 'Hm. ' }, { reasoning_content: 'Yes.' }, { tool_calls: [CALL] });
const ASK = {
  input: 'Go.',
  store: false,
  include: ['reasoning.encrypted_content'],
  tools: [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }],
};

const apps: RequestApp[] = [];
afterEach(() => Promise.all(apps.splice(0).map((app) => app.close())));

async function started(setup: RequestAppSetup = {}, body = THOUGHT): Promise<RequestApp> {
  const app = await startRequestApp({ secret: KEY, ...setup });
  apps.push(app);
  app.upstream.reply({ body });
  return app;
}

/** What clients that keep no thoughts of others send back: the item without its text. */
function asSealed(output: readonly JsonObject[]): JsonObject[] {
  return output.map((item) => (item.type === 'reasoning' ? { ...item, summary: [], content: undefined } : item));
}

async function answersCall(app: RequestApp, output: readonly JsonObject[], headers = {}): Promise<JsonObject> {
  const input = [
    { role: 'user', content: 'Go.' },
    ...output,
    { type: 'function_call_output', call_id: 'call_1', output: 'Seen.' },
  ];
  const answer = await fetch(`${app.url}/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'fake-model', ...ASK, input }),
  });
  expect(answer.status).toBe(200);
  await answer.text();
  const message = app.requested().messages.find(({ role }) => role === 'assistant');
  if (!message) throw new Error('The model got none of its own words.');
  return message;
}

describe.each(['summary', 'text'] as const)('with reasoning: %s', (reasoning) => {
  it('[K-02] seals the thought that a client asks for, streamed or not', async () => {
    const app = await started({ show: { reasoning } });
    const whole = (await app.create(ASK)).body.output;
    const streamed = finalOf(await app.streamed(ASK)).output;
    for (const output of [whole, streamed])
      expect(output[0]).toMatchObject({ type: 'reasoning', encrypted_content: expect.stringMatching(/^pst1\./) });
  });

  it('[K-02] gives the model its thought back on another process with the key', async () => {
    const { output } = (await (await started({ show: { reasoning } })).create(ASK)).body;
    const other = await started({ show: { reasoning } });
    expect(await answersCall(other, asSealed(output))).toMatchObject({ reasoning_content: 'Hm. Yes.' });
    expect(other.notes).toEqual([]);
  });
});

it('[K-02] seals nothing where nobody asks', async () => {
  const app = await started();
  expect((await app.create({ ...ASK, include: [] })).body.output[0]).not.toHaveProperty('encrypted_content');
});

it('[K-02] seals no thought that was cut off', async () => {
  const cut = chatChunk({ reasoning_content: 'Hm.' }) + chatChunk({}, { finish_reason: 'length' });
  const app = await started({}, `${cut}data: [DONE]\n\n`);
  const { output, status } = (await app.create(ASK)).body;
  expect(status).toBe('incomplete');
  expect(output).toEqual([expect.not.objectContaining({ encrypted_content: expect.anything() })]);
});

it('[K-02] believes the seal, not the text beside it', async () => {
  const app = await started();
  const { output } = (await app.create(ASK)).body;
  const changed = output.map((item) =>
    item.type === 'reasoning' ? { ...item, summary: [{ type: 'summary_text', text: 'Mine.' }] } : item,
  );
  expect(await answersCall(app, changed)).toMatchObject({ reasoning_content: 'Hm. Yes.' });
});

it('[K-02] obeys an upstream that wants no thoughts back', async () => {
  const chat: ChatCompletionsOptions = { reasoningReplay: false };
  const app = await started({ chat });
  const { output } = (await app.create(ASK)).body;
  expect(await answersCall(app, asSealed(output))).not.toHaveProperty('reasoning_content');
});

it('[K-02] notes a seal of another tenant, of another key, a broken and a foreign one, and goes on', async () => {
  const app = await started(TENANTS);
  const strange = await started({ secret: 'another secret of many bytes' });
  const { output } = (await app.create(ASK)).body;
  const [thought, ...rest] = output;
  const seal = String(thought?.encrypted_content);
  const ofStrange = (await strange.create(ASK)).body.output[0]?.encrypted_content;
  const others = [seal.slice(0, -8), `${seal}AAAA`, 'gAAAAABforeign', ofStrange, 'pst1.', 7];
  for (const encrypted of others) {
    const before = app.notes.length;
    const back = await answersCall(app, [{ type: 'reasoning', summary: [], encrypted_content: encrypted }, ...rest]);
    expect(back).not.toHaveProperty('reasoning_content');
    expect(app.notes.slice(before)).toMatchObject([{ code: 'state_unreadable' }]);
  }
  const back = await answersCall(app, asSealed(output), { 'x-tenant': 'other' });
  expect(back).not.toHaveProperty('reasoning_content');
});

it('[K-02] keeps what a server needs back beside the text, and gives it to no other server', async () => {
  const signed = { ...CALL, extra_content: { google: { thought_signature: 'c2ln' } } };
  const written = chatStream({ reasoning_content: 'Hm. Yes.' }, { tool_calls: [signed] });
  const app = await started({ show: { reasoning: 'text' } }, written);
  const { output } = (await app.create(ASK)).body;
  const back = await answersCall(app, asSealed(output));
  expect(back).toMatchObject({ reasoning_content: 'Hm. Yes.', tool_calls: [{ extra_content: signed.extra_content }] });
  const other = await started();
  const elsewhere = await answersCall(other, asSealed(output));
  expect(elsewhere).toMatchObject({ reasoning_content: 'Hm. Yes.' });
  expect(JSON.stringify(elsewhere)).not.toContain('c2ln');
  expect(other.notes).toMatchObject([{ code: 'state_unreadable' }]);
});
