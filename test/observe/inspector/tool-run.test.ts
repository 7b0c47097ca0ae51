/** Tools that the page runs: only with the playground, and only for its own page. */
import { jest } from '@jest/globals';
import express from 'express';
import { functionTools } from '../../../src/index.ts';
import { createInspector, type InspectorOptions } from '../../../src/observe/inspector/index.ts';
import { listening } from '../../support/listening.ts';

const KEY = 'sk-abcdefghijklmnop1234567890';
const city = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const execute = jest.fn(
  ({ city: name }: { city: string }, { scope }: { scope: string }) => `${name} for ${scope}, ${KEY}`,
);
const tools = functionTools({
  weather: { description: 'The weather.', parameters: city, execute: execute as never },
  broken: {
    execute: () => {
      throw new Error(`The database is gone: ${KEY}`);
    },
  },
});

let close: () => Promise<void>;

async function start(options: InspectorOptions = { playground: true }, parser?: express.RequestHandler) {
  execute.mockClear();
  const inspector = createInspector(options);
  inspector.observe({ tools });
  const app = express();
  if (parser) app.use(parser);
  const listener = await listening(app.use('/inspect', inspector.router));
  close = async () => {
    inspector.close();
    await listener.close();
  };
  const seen = async (path: string): Promise<{ servers: readonly { total: object }[] }> =>
    (await fetch(`${listener.url}/inspect/api/${path}`)).json() as never;
  async function run(body: unknown, headers = { 'content-type': 'application/json' }) {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const response = await fetch(`${listener.url}/inspect/api/tools/run`, { method: 'POST', headers, body: text });
    const type = response.headers.get('content-type') ?? '';
    return { status: response.status, body: type.includes('json') ? await response.json() : await response.text() };
  }
  return { run, seen };
}

afterEach(() => close());

const call = { server: 'functions', name: 'weather', arguments: { city: 'Berlin' } };

it('[X-10] runs a tool for a tenant of its own, masks keys in the result, and counts the call', async () => {
  const { run, seen } = await start();
  const { status, body } = await run(call);
  expect([status, body]).toEqual([
    200,
    { durationMs: expect.any(Number), isError: false, text: 'Berlin for inspector, ***', cut: 0 },
  ]);
  const { servers } = await seen('tools');
  expect(servers[0]?.total).toMatchObject({ calls: 1, failures: 0 });
});

it('[X-10] runs a tool whose request the host has parsed', async () => {
  const { run } = await start({ playground: true }, express.json());
  expect(await run(call)).toMatchObject({ status: 200, body: { isError: false } });
});

it('[X-10] shows the failure of a tool as its result', async () => {
  const { run, seen } = await start();
  expect(await run({ ...call, name: 'broken', arguments: {} })).toMatchObject({
    status: 200,
    body: { isError: true, text: 'The database is gone: ***' },
  });
  expect(JSON.stringify(await seen('tools'))).not.toContain(KEY);
});

it.each<[string, unknown, number, RegExp]>([
  ['arguments that its schema refuses', { ...call, arguments: { city: 5 } }, 400, /schema refuses/],
  ['arguments that are no object', { ...call, arguments: [] }, 400, /must be a JSON object/],
  ['no JSON', 'city=Berlin', 400, /must be a JSON object/],
  ['a tool that is not offered', { ...call, name: 'rm' }, 404, /not offered/],
  ['more than a megabyte', { ...call, more: 'x'.repeat(1_100_000) }, 413, /bytes/],
])('[X-10] runs nothing for %s', async (_, body, status, message) => {
  const { run } = await start();
  expect(await run(body)).toEqual({ status, body: { error: expect.stringMatching(message) } });
  expect(execute).not.toHaveBeenCalled();
});

it('[X-10] runs nothing for a form of another page, which needs no permission to be sent', async () => {
  const { run } = await start();
  expect((await run(call, { 'content-type': 'text/plain' })).status).toBe(415);
  expect(execute).not.toHaveBeenCalled();
});

it('[X-10] runs nothing without the playground: the page only reads', async () => {
  const { run } = await start({});
  expect((await run(call)).status).toBe(405);
  expect(execute).not.toHaveBeenCalled();
});

it('[X-10] runs nothing for a request that is not authorised', async () => {
  const { run } = await start({ playground: true, authorize: () => false });
  expect((await run(call)).status).toBe(403);
  expect(execute).not.toHaveBeenCalled();
});
