/** Prompts: templates of the host's that requests name by their id. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { memoryStore, type Prompt, type RouterOptions, responsesRouter } from '../../src/index.ts';
import { pii } from '../../src/policies/guards/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { chatCompletion, type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { type App, startApp } from '../support/app.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function start(options: RouterOptions): Promise<{ app: App; fake: FakeUpstream; client: OpenAI }> {
  const fake = await startFakeUpstream();
  const app = await startApp({ upstream: fake, options });
  closers.push(
    () => app.close(),
    () => fake.close(),
  );
  for (let count = 0; count < 4; count += 1) fake.reply({ body: chatCompletion('Yes.') });
  return { app, fake, client: new OpenAI({ baseURL: app.url, apiKey: 'client-key', maxRetries: 0 }) };
}

function sent(fake: FakeUpstream, index = 0): JsonObject {
  // The cast: the body is JSON.
  return (fake.requests[index] as unknown as { readonly body: JsonObject }).body;
}

function refusal(asking: Promise<unknown>): Promise<readonly unknown[]> {
  return asking.then(
    () => [200],
    ({ status, code, param, error }) => [status, code, param, error?.message],
  );
}

const WEATHER: Prompt = {
  instructions: 'Report the weather of {{city}}, {{ city }} and {{city}}.',
  settings: { model: 'the-model', temperature: 0.25, stream: true },
};

describe('prompts', () => {
  it('[E-09] fill a request in, and are shown in the resource', async () => {
    const { fake, client } = await start({ prompts: { weather: WEATHER } });
    const prompt = { id: 'weather', variables: { city: 'Oslo' } };
    const made = await client.responses.create({ prompt, input: 'Now?' });
    const { messages, model, temperature } = sent(fake);
    expect({ messages, model, temperature }).toEqual({
      messages: [
        { role: 'system', content: 'Report the weather of Oslo, {{ city }} and Oslo.' },
        { role: 'user', content: 'Now?' },
      ],
      model: 'the-model',
      temperature: 0.25,
    });
    const shown = { id: 'weather', version: null, variables: { city: 'Oslo' } };
    const found = await client.responses.retrieve(made.id);
    expect([made.prompt, found.prompt, made.instructions]).toEqual([
      shown,
      shown,
      'Report the weather of Oslo, {{ city }} and Oslo.',
    ]);
  });

  it('[E-09] give way to what the request says itself', async () => {
    const { fake, client } = await start({ prompts: { weather: WEATHER } });
    const prompt = { id: 'weather', variables: { city: 'Oslo' } };
    await client.responses.create({ prompt, input: 'Now?', model: 'another', instructions: 'Be brief.' });
    expect(sent(fake)).toMatchObject({ model: 'another', messages: [{ content: 'Be brief.' }, {}] });
  });

  it('[E-09] put messages in front of the input, or in its place, with images for variables', async () => {
    const describe = [{ role: 'user', content: [{ type: 'input_text', text: '{{photo}}' }] }];
    const { fake, client } = await start({ prompts: { describe: { input: describe, settings: { model: 'm' } } } });
    const photo = { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' } as const;
    await client.responses.create({ prompt: { id: 'describe', variables: { photo } } });
    await client.responses.create({ prompt: { id: 'describe', variables: { photo: 'A cat.' } }, input: 'Go on.' });
    const url = 'data:image/png;base64,AAAA';
    expect([sent(fake).messages, sent(fake, 1).messages]).toMatchObject([
      [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
      [{ role: 'user' }, { role: 'user', content: 'Go on.' }],
    ]);
    expect(JSON.stringify(sent(fake, 1).messages)).toContain('A cat.');
  });

  it('[E-09] never search a value for variables', async () => {
    const { fake, client } = await start({
      prompts: { a: { instructions: '{{one}} {{two}}', settings: { model: 'm' } } },
    });
    await client.responses.create({ prompt: { id: 'a', variables: { one: '{{two}} $& $1', two: 'x' } }, input: 'i' });
    expect(sent(fake).messages).toMatchObject([{ content: '{{two}} $& $1 x' }, {}]);
  });

  it('[E-09] are refused where they are unknown, and so are variables that are missing or unknown', async () => {
    const { fake, client } = await start({ prompts: { weather: WEATHER, 'weather@2': WEATHER } });
    const ask = (prompt: OpenAI.Responses.ResponsePrompt) =>
      refusal(client.responses.create({ model: 'm', input: 'i', prompt }));
    const variables = { city: 'x' };
    expect([
      await ask({ id: 'other', variables }),
      await ask({ id: 'weather', version: '3', variables }),
      await ask({ id: '__proto__', variables }),
      await ask({ id: 'weather' }),
      await ask({ id: 'weather', variables: { city: 'x', country: 'y' } }),
      await ask({ id: 'weather', variables: { city: { type: 'input_image', detail: 'auto', image_url: 'x' } } }),
      await ask({ id: 7 as never }),
      await ask({ id: 'weather', variables: { city: 5 as never } }),
    ]).toMatchObject([
      [404, 'prompt_not_found', 'prompt', "Prompt with id 'other' not found."],
      [404, 'prompt_not_found', 'prompt', expect.any(String)],
      [404, 'prompt_not_found', 'prompt', expect.any(String)],
      [400, 'missing_required_parameter', 'prompt.variables', 'Missing prompt variables: city.'],
      [400, 'invalid_value', 'prompt.variables', 'Unknown prompt variables: country.'],
      [400, 'invalid_value', 'prompt.variables', expect.any(String)],
      [400, 'invalid_type', 'prompt.id', expect.any(String)],
      [
        ...[400, 'invalid_type', 'prompt.variables.city'],
        "Invalid type for 'prompt.variables.city': expected a text, an image or a file, but got an integer instead.",
      ],
    ]);
    expect(fake.requests).toEqual([]);
  });

  it('[E-09] cannot be made to grow beyond what a request may be', async () => {
    const { client } = await start({
      prompts: { a: { instructions: '{{x}}'.repeat(100), settings: { model: 'm' } } },
      limits: { request: { bodyBytes: 10_000 } },
    });
    const asking = client.responses.create({ prompt: { id: 'a', variables: { x: 'y'.repeat(5000) } }, input: 'i' });
    expect((await refusal(asking)).slice(0, 2)).toEqual([413, 'request_too_large']);
  });

  it('[E-09] are refused where the host has none', async () => {
    const { client } = await start({});
    const asking = client.responses.create({ model: 'm', input: 'i', prompt: { id: 'a' } });
    expect((await refusal(asking)).slice(0, 3)).toEqual([400, 'unsupported_parameter', 'prompt']);
  });

  it('[E-09] are guarded with their variables, in the resource too', async () => {
    const store = memoryStore();
    const { fake, client } = await start({ store, prompts: { weather: WEATHER }, guards: { input: [pii()] } });
    const made = await client.responses.create({
      prompt: { id: 'weather', variables: { city: 'bob@example.com' } },
      input: 'i',
      stream: false,
    });
    expect(`${JSON.stringify(sent(fake))}${JSON.stringify(made)}`).not.toContain('bob@example.com');
  });

  it('[E-09] come from a function by request, or from a folder, in the newest version', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'prompts-'));
    closers.push(async () => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, 'greet.md'), 'Greet {{name}}.\n');
    for (const version of ['2', '10'])
      writeFileSync(join(folder, `sum@${version}.json`), JSON.stringify({ instructions: `Version ${version}.` }));
    const files = await start({ prompts: folder });
    const ask = (client: OpenAI, prompt: OpenAI.Responses.ResponsePrompt) =>
      client.responses.create({ model: 'm', input: 'i', prompt });
    await ask(files.client, { id: 'greet', variables: { name: 'Ann' } });
    await ask(files.client, { id: 'sum' });
    await ask(files.client, { id: 'sum', version: '2' });
    const own = await start({
      prompts: async ({ id, version }, request) => ({
        version: '7',
        instructions: `${id} ${version} ${(request as { headers: JsonObject }).headers.authorization}`,
      }),
    });
    const made = await ask(own.client, { id: 'any', version: '7' });
    const instructions = [0, 1, 2].map(
      (index) => (sent(files.fake, index).messages as readonly JsonObject[])[0]?.content,
    );
    expect([instructions, made.instructions, made.prompt?.version]).toEqual([
      ['Greet Ann.', 'Version 10.', 'Version 2.'],
      'any 7 Bearer client-key',
      '7',
    ]);
  });

  it('[E-09] are counted for the model that they name, with their messages once', async () => {
    const counts: [text: string, model: string][] = [];
    const countTokens = (...count: [text: string, model: string]) => counts.push(count);
    const { app } = await start({
      prompts: { weather: { ...WEATHER, input: [{ role: 'user', content: 'Of {{city}}.' }] } },
      countTokens,
    });
    const count = async (body: JsonObject) => {
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
      expect((await fetch(`${app.url}/responses/input_tokens`, init)).status).toBe(200);
    };
    const prompt = { id: 'weather', variables: { city: 'Oslo' } };
    await count({ prompt, input: 'Now?' });
    await count({ prompt, model: 'mine' });
    expect(counts.map(([text, model]) => [model, text.match(/Of Oslo/g)?.length, text.includes('Now?')])).toEqual([
      ['the-model', 1, true],
      ['mine', 1, false],
    ]);
  });

  it('[E-09] that cannot be are refused when the router is created', () => {
    const create = (prompts: unknown) => () => responsesRouter({ prompts } as RouterOptions);
    expect(create(7)).toThrow(/prompts must be an object of prompts, a folder or a function/);
    expect(create('/no/such/folder')).toThrow("responsesRouter: prompts: the folder '/no/such/folder' cannot be read");
    expect(create({ a: { text: 'x' } })).toThrow(/prompts: 'a' has the unknown field 'text'/);
    expect(create({ a: { instructions: 7 } })).toThrow(/prompts: 'a' must have texts/);
  });
});
