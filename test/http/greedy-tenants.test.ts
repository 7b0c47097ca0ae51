/** A tenant that asks for as much as it can does not keep others waiting: responses in the background, and images. */
import { imageGeneration } from 'express-open-responses/image-generation';
import { memoryStore, type Upstream } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { type App, startApp } from '../support/app.ts';
import { type Gate, gate } from '../support/gate.ts';
import { json, madeOf, PNG, startImages } from '../tools/image-generation/images-server.ts';

let app: App | undefined;
afterEach(() => app?.close());

function post(tenant: string, body: JsonObject): Promise<Response> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${tenant}` };
  return fetch(`${app?.url}/responses`, { method: 'POST', headers, body: JSON.stringify({ model: 'm', ...body }) });
}

it('[G-07] another tenant’s response in the background has its turn soon, and a place in the queue, however many a greedy one has there', async () => {
  const begun: string[] = [];
  const gates: Gate[] = [];
  let onBegun = () => {};
  const upstream: Upstream = {
    name: 'gated',
    async *stream(request) {
      const own = gate();
      begun.push(JSON.stringify(request.items).includes('modest') ? 'modest' : 'greedy');
      gates.push(own);
      onBegun();
      await own.opened;
      yield [
        { type: 'text-delta', text: 'Done.' },
        { type: 'finish', reason: 'stop' },
      ];
    },
  };
  const limits = { turns: { concurrentTurns: 1, queuedTurns: 10 } };
  app = await startApp({ options: { upstream, store: memoryStore(), logger: false, limits } });
  const greedy: number[] = [];
  for (let count = 0; count < 12; count += 1)
    greedy.push((await post('greedy', { input: 'greedy', background: true })).status);
  const modest = await post('modest', { input: 'modest', background: true });
  expect([greedy.filter((status) => status === 200).length, greedy.at(-1), modest.status]).toEqual([6, 429, 200]);
  for (let turn = 0; turn < 2; turn += 1) {
    const next = new Promise<void>((resolve) => {
      onBegun = resolve;
    });
    while (!gates[turn]) await new Promise(setImmediate);
    gates[turn]?.open();
    await next;
  }
  expect(begun).toEqual(['greedy', 'greedy', 'modest']);
  await app.router.drain({ timeoutMs: 0 });
  for (const each of gates) each.open();
});

it('[G-07] another tenant’s image is made while a greedy one waits for all of its own', async () => {
  const images = await startImages();
  const held: (() => void)[] = [];
  images.answer((response, { body }) => {
    const answer = () => json(madeOf(PNG))(response, { body } as never);
    if (body.includes('greedy')) held.push(answer);
    else answer();
  });
  const upstream: Upstream = {
    name: 'draws',
    async *stream(request) {
      const text = JSON.stringify(request.items);
      const isMade = text.includes('image_generation_call');
      const prompt = text.includes('modest') ? 'modest' : 'greedy';
      if (isMade)
        yield [
          { type: 'text-delta', text: 'There.' },
          { type: 'finish', reason: 'stop' },
        ];
      else
        yield [
          {
            type: 'tool-call-delta',
            call: 0,
            id: 'call_1',
            name: 'image_generation',
            arguments: JSON.stringify({ prompt }),
          },
          { type: 'finish', reason: 'stop' },
        ];
    },
  };
  const tools = imageGeneration({ baseURL: images.url, apiKey: 'k', model: 'm' });
  app = await startApp({ options: { upstream, tools, store: memoryStore(), logger: false } });
  const ask = (tenant: string) => post(tenant, { input: tenant, tools: [{ type: 'image_generation' }] });
  const greedy = Array.from({ length: 30 }, () => ask('greedy'));
  while (held.length < 30) await new Promise(setImmediate);
  // The cast: the answer is a response.
  const { output } = (await (await ask('modest')).json()) as { readonly output: readonly JsonObject[] };
  expect(output.map(({ type }) => type)).toEqual(['image_generation_call', 'message']);
  for (const each of held) each();
  await Promise.all(greedy);
  await tools.close?.();
  await images.close();
});
