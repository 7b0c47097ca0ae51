/** What the inspector keeps of requests of every kind. */
import { jest } from '@jest/globals';
import type { RouterOptions } from '../../../src/index.ts';
import { ApiError, chatCompletionsUpstream, functionTools, type Hooks } from '../../../src/index.ts';
import { createInspector, type InspectorOptions } from '../../../src/observe/inspector/index.ts';
import { DEFAULT_LIMITS } from '../../../src/ports/limits.ts';
import { startFakeUpstream, textStream, toolCallStream } from '../../../src/testing/index.ts';
import { balanced } from '../../../src/upstreams/routing/index.ts';
import { gate } from '../../support/gate.ts';
import { type InspectedApp, startInspected } from './inspected-app.ts';

let app: InspectedApp;

async function start(inspector: InspectorOptions = {}, options: RouterOptions = {}): Promise<InspectedApp> {
  app = await startInspected(inspector, options);
  return app;
}

afterEach(async () => {
  jest.restoreAllMocks();
  await app.close();
});

const tools = functionTools({ now: { description: 'The time.', execute: () => 'noon' } });

describe('the recording of a response', () => {
  it('[X-10] has its tenant, model, status, tokens, times and tools in the list', async () => {
    const { fake, post, rows } = await start({}, { tools, scope: () => 'team-a' });
    fake.reply(
      { body: toolCallStream([{ id: 'call_1', name: 'now', arguments: '{}' }]) },
      { body: textStream('It is noon.') },
    );
    await post({ model: 'fake-model', input: 'What time is it?', stream: true });
    expect(await rows()).toEqual([
      expect.objectContaining({
        tenant: 'team-a',
        model: 'fake-model',
        status: 'completed',
        api: 'responses stream',
        asked: 'What time is it?',
        inputTokens: expect.any(Number),
        outputTokens: expect.any(Number),
        firstOutput: expect.any(Number),
        duration: expect.any(Number),
        tools: ['now'],
        error: null,
      }),
    ]);
  });

  it('[X-10] holds each item as the client sees it, with when it began and ended', async () => {
    const { fake, post, seen } = await start({}, { tools });
    fake.reply(
      { body: toolCallStream([{ id: 'call_1', name: 'now', arguments: '{}' }]) },
      { body: textStream('It is noon.') },
    );
    const { output } = JSON.parse(await post({ model: 'fake-model', input: 'Hi' }));
    const { itemList, callList, toolRuns, duration } = await seen('responses/1');
    const items = itemList as readonly { json: string; start: number; end: number }[];
    const places = items.flatMap(({ start: from, end }) => [from, end]);
    expect(items.map(({ json }) => JSON.parse(json))).toEqual(output);
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    expect(places.at(-1)).toBeLessThanOrEqual(duration as number);
    expect([(callList as []).length, toolRuns]).toEqual([2, [expect.objectContaining({ name: 'now', error: null })]]);
  });

  it('[X-10] holds what the model server was sent and what it answered, as on the wire', async () => {
    const { fake, post, seen } = await start();
    fake.reply({ body: textStream('Hello!') });
    await post({ model: 'fake-model', input: 'Hi' });
    const [call] = (await seen('responses/1')).callList as readonly {
      request: { text: string };
      answer: { text: string };
    }[];
    expect(JSON.parse(call?.request.text ?? '')).toEqual(fake.requests[0]?.body);
    expect(
      textStream('Hello!')
        .split('\n\n')
        .filter(Boolean)
        .map((frame) => frame.replace('data: ', '')),
    ).toEqual(call?.answer.text.split('\n'));
  });

  it('[X-10] has a chat completion, whose chunks pass unchanged', async () => {
    const { fake, post, rows } = await start();
    fake.reply({ body: textStream('Hello!') });
    const body = { model: 'fake-model', messages: [{ role: 'user', content: 'Hi chat' }], stream: true };
    const answer = await post(body, {}, 'chat/completions');
    expect([answer, await rows()]).toEqual([
      textStream('Hello!'),
      [expect.objectContaining({ api: 'chat stream', status: 'completed', asked: 'Hi chat' })],
    ]);
  });

  it('[X-10] shows a refused request, and one that the model server refused', async () => {
    const { fake, post, rows } = await start();
    await post({ model: 'fake-model', input: 5 });
    fake.reply({ status: 400, body: '{"error":{"message":"No such model.","code":"model_not_found"}}' });
    await post({ model: 'other', input: 'Hi' });
    expect((await rows()).map(({ status, error }) => [status, error])).toEqual([
      ['failed', 'model_not_found'],
      ['refused', 'invalid_type'],
    ]);
  });

  it('[X-10] is cancelled when its client leaves', async () => {
    const { origin, fake, rows } = await start();
    fake.reply({ body: textStream('Hello!'), stallAfterBytes: 10 });
    const client = new AbortController();
    const body = JSON.stringify({ model: 'fake-model', input: 'Hi', stream: true });
    const asked = fake.nextRequest();
    const headers = { 'content-type': 'application/json' };
    const answer = fetch(`${origin}/v1/responses`, { method: 'POST', headers, body, signal: client.signal });
    await asked;
    expect((await rows())[0]?.status).toBe('running');
    client.abort();
    await answer.catch(() => {});
    await fake.closed(0);
    expect((await rows())[0]?.status).toBe('cancelled');
  });

  it('[X-10] shows the text of an item while it grows', async () => {
    const { origin, fake, seen } = await start();
    fake.reply({
      body: [textStream(['Hel', 'lo']).split('\n\n').slice(0, 2).join('\n\n'), '\n\n'],
      stallAfterBytes: 10_000,
    });
    const client = new AbortController();
    const body = JSON.stringify({ model: 'fake-model', input: 'Hi', stream: true });
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${origin}/v1/responses`, { method: 'POST', headers, body, signal: client.signal });
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ''; !text.includes('output_text.delta'); ) text += (await reader?.read())?.value;
    expect((await seen('responses/1')).itemList).toEqual([expect.objectContaining({ growing: 'Hel', end: null })]);
    client.abort();
  });
});

describe('the inspector beside the host', () => {
  it('[X-10] leaves the hooks of the host as they are, in objects of classes too', async () => {
    class Audit implements Hooks {
      readonly seen: string[] = [];
      onRequest(): void {
        this.seen.push('request');
      }
      onTurn() {
        this.seen.push('turn');
        return () => void this.seen.push('events');
      }
      onAttempt(): void {
        this.seen.push('attempt');
      }
      onResponse(): void {
        this.seen.push('response');
      }
    }
    const hooks = new Audit();
    const { post, rows } = await start({}, { hooks });
    await post({ model: 'fake-model', input: 'Hi' });
    expect([hooks.seen.slice(0, 4), hooks.seen.at(-1), (await rows()).length]).toEqual([
      ['turn', 'request', 'attempt', 'events'],
      'response',
      1,
    ]);
  });

  it('[X-10] passes on every hook of the host', () => {
    const names: Required<{ [Name in keyof Hooks]: true }> = {
      onRequest: true,
      onTurn: true,
      onResponse: true,
      onAttempt: true,
      onToolCall: true,
      onToolProgress: true,
      onApproval: true,
      onGuard: true,
      onError: true,
      onNote: true,
    };
    const hooks = Object.fromEntries(Object.keys(names).map((name) => [name, () => {}])) as Hooks;
    const inspector = createInspector();
    const { hooks: observed } = inspector.observe({ hooks });
    inspector.close();
    const missing = Object.keys(names).filter((name) => typeof observed?.[name as keyof Hooks] !== 'function');
    expect(missing).toEqual([]);
  });

  it('[X-10] leaves an upstream what it knows of a call: which server answers, and the secrets in its headers', async () => {
    const inspector = createInspector();
    const fakes = await Promise.all([startFakeUpstream(), startFakeUpstream()]);
    const key = 'key-of-the-client-1234567890';
    const headers = (client: Headers) => ({ authorization: `Bearer ${client.get('x-key')}` });
    const upstreams = fakes.map(({ baseURL }) => chatCompletionsUpstream({ baseURL, headers }));
    const { upstream } = inspector.observe({ upstream: balanced(upstreams, { by: 'round-robin' }) });
    const call = {
      signal: new AbortController().signal,
      headers: new Headers({ 'x-key': key }),
      limits: DEFAULT_LIMITS,
      note: () => {},
    };
    for (let round = 0; round < 3; round += 1)
      for await (const _ of upstream.stream({ model: 'm', items: [], tools: [] }, call));
    const asked = fakes.map(({ requests }) => requests.length);
    const shown = String(upstream.redact?.(new ApiError('upstream_error', `The key ${key} is bad.`), call));
    inspector.close();
    await Promise.all([...fakes, ...upstreams].map(({ close }) => close()));
    expect([asked, shown.includes('is bad'), shown.includes(key)]).toEqual([[3, 0], true, false]);
  });

  it('[X-10] leaves the warnings of failures, where the host has neither a hook nor a logger', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const { fake, post } = await start({}, { logger: undefined });
    fake.reply({ status: 500, body: 'broken' });
    await post({ model: 'fake-model', input: 'Hi' });
    expect(warn.mock.calls.map(([text]) => String(text))).toEqual([expect.stringContaining('upstream_error')]);
  });

  it('[X-10] records a request once where options are observed twice', async () => {
    const { inspector } = await start();
    const upstream = { name: 'own', stream: async function* () {} };
    const once = inspector.observe({ upstream });
    const twice = inspector.observe(once);
    expect([twice.upstream === once.upstream, twice.hooks === once.hooks]).toEqual([true, true]);
  });

  it('[X-10] keeps what an upstream of the host has of its own, private fields included', () => {
    class Own {
      readonly name = 'own';
      #calls = 3;
      async *stream() {}
      status() {
        return { calls: this.#calls };
      }
    }
    const { upstream } = createInspector().observe({ upstream: new Own() });
    expect([upstream.status(), upstream.name, 'chat' in upstream]).toEqual([{ calls: 3 }, 'own', false]);
  });

  it('[X-10] shows an upstream without a wire by what it was given and gave', async () => {
    const upstream = {
      name: 'own',
      async *chat() {},
      async *stream({ model }: { readonly model: string }) {
        yield [{ type: 'text-delta', text: model } as const, { type: 'finish', reason: 'stop' } as const];
      },
    };
    const { post, seen } = await start({}, { upstream });
    await post({ model: 'mine', input: 'Hi' });
    const [call] = (await seen('responses/1')).callList as readonly {
      request: { text: string };
      answer: { text: string };
    }[];
    expect([call?.request.text, call?.answer.text]).toEqual([
      expect.stringContaining('"model":"mine"'),
      expect.stringContaining('text-delta'),
    ]);
  });
});

describe('what is kept', () => {
  const KEY = 'sk-abcdefghijklmnop1234567890';

  it('[X-10] has no secret of the client, in a field, in a header of a tool, or in a text', async () => {
    const { fake, post, rows, seen } = await start();
    fake.reply({ body: textStream(`Your key is ${KEY}.`) });
    const mcp = {
      type: 'mcp',
      server_label: 'x',
      server_url: 'https://x.example',
      authorization: 'very secret',
      headers: { 'X-Api-Key': 'also secret' },
    };
    await post({ model: 'fake-model', input: `My key is ${KEY}.`, tools: [mcp] }, { authorization: `Bearer ${KEY}` });
    const all = JSON.stringify([
      await rows(),
      await seen('responses/1'),
      await seen('conversations'),
      await seen('upstreams'),
    ]);
    expect(all).toContain('My key is ***');
    expect(['very secret', 'also secret', KEY, 'upstream-key'].filter((secret) => all.includes(secret))).toEqual([]);
  });

  it('[X-10] is bounded for each body, and reports what is missing', async () => {
    const { fake, post, seen } = await start({ bodyCharacters: 1000 });
    fake.reply({ body: textStream('y'.repeat(50_000)) });
    await post({ model: 'fake-model', input: 'x'.repeat(100_000) });
    const { body, itemList, callList } = (await seen('responses/1')) as never as {
      body: { text: string; cut: number };
      itemList: { json: string; cut: number }[];
      callList: { request: { text: string; cut: number }; answer: { text: string; cut: number } }[];
    };
    const [[item], [call]] = [itemList, callList];
    const lengths = [body.text, item?.json, call?.request.text, call?.answer.text].map((text) => text?.length ?? 0);
    expect(lengths.every((length) => length < 1500)).toBe(true);
    expect(body.cut).toBeGreaterThan(98_000);
    expect([item?.cut, call?.request.cut, call?.answer.cut].every((cut) => Number(cut) > 40_000)).toBe(true);
    expect(JSON.parse(body.text)).toMatchObject({
      model: 'fake-model',
      input: expect.stringMatching(/^x+… \(\d+ more characters\)$/),
    });
  });

  it('[X-10] is what the host makes of each item, and then no text of model calls', async () => {
    const redact = ({ type, role }: Readonly<Record<string, unknown>>) => ({ type, role });
    const { fake, post, rows, seen } = await start({ redact });
    fake.reply({ body: textStream('A private answer.') });
    await post({
      model: 'fake-model',
      instructions: 'Private rules.',
      input: [{ role: 'user', content: 'A private question.' }],
    });
    const all = JSON.stringify([await rows(), await seen('responses/1'), await seen('conversations')]);
    expect(all).not.toMatch(/private/i);
    expect(((await seen('responses/1')).callList as []).length).toBe(1);
  });

  it('[X-10] holds nothing of an item for which the host throws', async () => {
    const redact = () => {
      throw new Error('broken');
    };
    const { post, seen } = await start({ redact });
    await post({ model: 'fake-model', input: 'A private question.' });
    expect((await seen('responses/1')).body).toEqual(
      expect.objectContaining({ text: expect.stringContaining('redact threw') }),
    );
  });
});

describe('the ring', () => {
  it('[X-10] lets the oldest go, by number, and forgets all of it', async () => {
    const { post, rows, seen } = await start({ maxResponses: 2 });
    for (const input of ['one', 'two', 'three']) await post({ model: 'fake-model', input });
    const { kept, evicted } = await seen('responses');
    expect([(await rows()).map(({ asked }) => asked), kept, evicted]).toEqual([['three', 'two'], 2, 1]);
    expect(await seen('responses/1')).toEqual({ error: 'This response is not kept any more.' });
    expect(JSON.stringify(await seen('conversations'))).not.toContain('"one"');
  });

  it('[X-10] lets the oldest go by their bytes', async () => {
    const maxBytes = 1024 * 1024;
    const { post, rows, seen } = await start({ maxBytes });
    for (let sent = 0; sent < 20; sent += 1)
      await post({ model: 'fake-model', input: `${sent} ${'x'.repeat(60_000)}` });
    const { bytes, evicted } = (await seen('responses')) as { bytes: number; evicted: number };
    expect([bytes <= maxBytes, bytes > maxBytes / 2, evicted > 5, (await rows())[0]?.number]).toEqual([
      true,
      true,
      true,
      20,
    ]);
  });

  it('[X-10] keeps nothing more of a response that it has let go while it ran', async () => {
    const released = gate();
    const slow = functionTools({
      now: { description: 'The time.', execute: () => released.opened.then(() => 'noon') },
    });
    const { fake, post, seen } = await start({ maxResponses: 1 }, { tools: slow });
    fake.reply(
      { body: toolCallStream([{ id: 'call_1', name: 'now', arguments: '{}' }]) },
      { body: textStream('short') },
      { body: textStream('z'.repeat(20_000)) },
    );
    const asked = fake.nextRequest();
    const running = post({ model: 'fake-model', input: 'first' });
    await asked;
    await post({ model: 'fake-model', input: 'second' });
    const { bytes } = await seen('responses');
    released.open();
    await running;
    expect([await seen('responses'), (await seen('responses/1')).error]).toEqual([
      expect.objectContaining({ bytes, kept: 1 }),
      'This response is not kept any more.',
    ]);
  });

  it('[X-10] finds by text, status, model and tenant, in pages', async () => {
    const { post, rows } = await start({}, { scope: ({ headers }) => String(headers['x-tenant']) });
    for (const [tenant, model, input] of [
      ['a', 'fake-model', 'apples'],
      ['b', 'fake-model', 'pears'],
      ['b', 'other', 'APPLES and pears'],
    ] as const)
      await post({ model, input }, { 'x-tenant': tenant });
    const numbers = async (query: string) => (await rows(query)).map(({ number }) => number);
    expect([
      await numbers('q=apples'),
      await numbers('tenant=b'),
      await numbers('tenant=b&model=fake-model'),
      await numbers('status=failed'),
      await numbers('limit=2'),
      await numbers('limit=2&before=2'),
    ]).toEqual([[3, 1], [3, 2], [2], [], [3, 2], [1]]);
  });
});

describe('conversations', () => {
  it('[X-10] are trees, whose branches are distinguished, and tenants never share one', async () => {
    const { post, seen } = await start({}, { scope: ({ headers }) => String(headers['x-tenant'] ?? 'a') });
    const { id } = JSON.parse(await post({ model: 'fake-model', input: 'root' }));
    const next = JSON.parse(await post({ model: 'fake-model', input: 'main', previous_response_id: id }));
    await post({ model: 'fake-model', input: 'branch', previous_response_id: id });
    await post({ model: 'fake-model', input: 'end', previous_response_id: next.id });
    await post({ model: 'fake-model', input: 'stranger', previous_response_id: id }, { 'x-tenant': 'b' });
    const { trees } = (await seen('conversations')) as {
      trees: { turns: { asked: string; branch: number; parent: number }[] }[];
    };
    expect(trees.map(({ turns }) => turns.map(({ asked, branch, parent }) => [asked, branch, parent]))).toEqual([
      [
        ['root', 0, 0],
        ['main', 0, 1],
        ['end', 0, 2],
        ['branch', 1, 1],
      ],
    ]);
    expect(((await seen('conversations?of=3')).trees as []).length).toBe(1);
  });

  it('[X-10] of two tenants are two, even where their ids are the same', async () => {
    const { inspector, seen } = await start();
    const { hooks } = inspector.observe({});
    for (const scope of ['a', 'b']) {
      const info = {
        requestId: `req_${scope}`,
        responseId: 'resp_1',
        scope,
        model: 'm',
        stream: false,
        background: false,
      };
      const body = { input: 'Hi', ...(scope === 'b' ? { previous_response_id: 'resp_1' } : {}) };
      hooks.onTurn?.({ ...info, api: 'responses', body, signal: new AbortController().signal });
    }
    const { trees } = (await seen('conversations')) as { trees: { tenant: string; count: number }[] };
    expect(trees.map(({ tenant, count }) => [tenant, count])).toEqual([
      ['b', 1],
      ['a', 1],
    ]);
  });
});
