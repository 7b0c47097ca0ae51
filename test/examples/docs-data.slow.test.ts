/** The JSON, YAML and HTTP of the documentation are what the package takes and answers. */

import { on, once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { memoryStore, type RouterOptions } from 'express-open-responses';
import { mcpTools, remoteMcp } from 'express-open-responses/mcp';
import {
  type DemoModel,
  type FakeResponder,
  startDemoModel,
  startFakeUpstream,
  textStream,
  toolCallStream,
} from 'express-open-responses/testing';
import { attachResponsesWebSocket } from 'express-open-responses/websocket';
import { WebSocket } from 'ws';
import type { JsonObject } from '../../src/protocol/record.ts';
import { startApp } from '../support/app.ts';
import { INCLUDING, searches, searching } from '../tools/web-search/support.ts';
import { answerOf, post } from './recipe.ts';
import { codeBlocks, readProject } from './support.ts';

const root = join(import.meta.dirname, '../..');
const HELLO = { body: textStream('Hello.') };

/** The answer of a router to a request. */
async function asked(body: JsonObject, options: RouterOptions = {}, script: readonly FakeResponder[] = [HELLO]) {
  const fake = await startFakeUpstream();
  fake.reply(...script);
  const app = await startApp({ upstream: fake, options });
  try {
    const answer = await answerOf(post(`${app.url}/responses`, { model: 'm', input: 'Hi.', ...body }));
    return { ...answer, error: answer.body.error as JsonObject | undefined };
  } finally {
    await Promise.all([app.close(), fake.close()]);
  }
}

/** The names of fields, at any depth; of a list those of its first entry. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf);
  if (value === null || typeof value !== 'object') return true;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, each]) => [name, shapeOf(each)] as const)
      .toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );
}

async function isAccepted(block: JsonObject): Promise<boolean> {
  return (await asked(block)).status === 200;
}

/** A server that a request names is looked up once its tool was found right. */
async function isRemoteTool(block: JsonObject): Promise<boolean> {
  const resolve = async () => {
    throw new Error('No name is known.');
  };
  const remote = remoteMcp({ egressResources: { resolve } });
  const { status, error } = await asked({ tools: [{ ...block, authorization: 'secret' }] }, { remoteMcp: remote });
  await remote.close();
  return status === 422 && error?.code === 'mcp_server_unavailable';
}

/** Both halves of an approval are read; its call does not wait, since nobody asked for it. */
async function isApproval(): Promise<boolean> {
  const [request, response] = codeBlocks('docs/remote-mcp.md', 'json')
    .slice(1)
    .map((text) => JSON.parse(text));
  const { error } = await asked({ input: [request, response] });
  return error?.code === 'approval_not_found';
}

async function isErrorOfMissingModel(block: JsonObject): Promise<boolean> {
  return isDeepStrictEqual((await asked({ model: undefined })).body, block);
}

/** With a model server that does not run, at the port that the page names. */
async function isStatus(block: JsonObject): Promise<boolean> {
  const tools = mcpTools({ servers: { issues: { url: 'http://127.0.0.1:9/mcp' } } });
  const app = await startApp({ upstream: { baseURL: 'http://127.0.0.1:9/v1' }, options: { tools } });
  await post(`${app.url}/responses`, { model: 'm', input: 'Hi.' });
  const status = await app.router.status();
  await app.close();
  await tools.close();
  return status.status === block.status && isDeepStrictEqual(shapeOf(status), shapeOf(block));
}

async function isSearch(block: JsonObject): Promise<boolean> {
  const { tools } = searching();
  const { body } = await asked(INCLUDING, { tools }, [searches('lighthouses'), HELLO]);
  // The cast: the output is a list of items.
  const [item] = (body.output as readonly JsonObject[]).filter(({ type }) => type === 'web_search_call');
  return isDeepStrictEqual(shapeOf(item), shapeOf(block));
}

/** A file of servers in which the model is offered no tool that the file leaves out. */
async function isMcpConfig(block: JsonObject): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-'));
  const configFile = join(folder, 'mcp.json');
  writeFileSync(configFile, JSON.stringify(block));
  const tools = mcpTools({ configFile });
  const labels = tools.status().map(({ label }) => label);
  await tools.close();
  rmSync(folder, { recursive: true });
  return isDeepStrictEqual(labels, ['issues']);
}

let demo: DemoModel;

/** The last message that a connection gets for this one. */
async function overWebSocket(
  message: JsonObject,
  options: Pick<RouterOptions, 'multiAgent'> = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<JsonObject> {
  const app = await startApp({ upstream: demo });
  const socket = attachResponsesWebSocket(app.server, { store: memoryStore(), ...options });
  const client = new WebSocket(`${app.url.replace('http', 'ws')}/responses`, { headers });
  await once(client, 'open');
  client.send(JSON.stringify(message));
  for await (const [data] of on(client, 'message')) {
    const event = JSON.parse(String(data)) as JsonObject;
    if (!['response.completed', 'response.failed', 'response.inject.failed', 'error'].includes(String(event.type)))
      continue;
    client.terminate();
    await socket.close();
    await app.close();
    return event;
  }
  throw new Error('The connection ended.');
}

async function isMessage(block: JsonObject): Promise<boolean> {
  process.env.OPENAI_BASE_URL = demo.baseURL;
  return (await overWebSocket(block)).type === 'response.completed';
}

async function isRefusal(block: JsonObject): Promise<boolean> {
  const message = { type: 'response.create', model: 'm', input: 'Hi.', previous_response_id: 'resp_1' };
  return isDeepStrictEqual(await overWebSocket(message), block);
}

/** It is read as an answer to a call; its response does not run here. */
async function isInjection(block: JsonObject): Promise<boolean> {
  const headers = { 'openai-beta': 'responses_multi_agent=v1' };
  const { error } = await overWebSocket(block, { multiAgent: true }, headers);
  // The cast: a failed injection says why.
  return (error as JsonObject).code === 'response_not_found';
}

async function isTool(block: JsonObject): Promise<boolean> {
  return isAccepted({ tools: [block] });
}

/** Settings of clients, which `test/agents` and `test/package/quick-start.mjs` run as they stand. */
const isRunElsewhere = async () => true;

/** What each JSON block is held against, in the order of its page. */
const CHECKS: Readonly<Record<string, readonly ((block: JsonObject) => Promise<boolean>)[]>> = {
  'docs/clients.md': [isRunElsewhere, isRunElsewhere],
  'docs/code-interpreter.md': [isAccepted],
  'docs/errors.md': [isErrorOfMissingModel],
  'docs/image-generation.md': [isAccepted],
  'docs/logging.md': [isStatus],
  'docs/multi-agent.md': [isInjection],
  'docs/programs.md': [isAccepted],
  'docs/quick-start.md': [isRunElsewhere],
  'docs/remote-mcp.md': [isRemoteTool, isApproval, isApproval],
  'docs/shell.md': [isAccepted, isTool, isTool],
  'docs/tools.md': [isMcpConfig],
  'docs/vector-stores.md': [isAccepted],
  'docs/web-search.md': [isAccepted, isSearch],
  'docs/websocket.md': [isMessage, isRefusal],
  'examples/express/README.md': [isMessage],
  'examples/hono/README.md': [isMessage],
  'examples/koa-adapter/README.md': [isMessage],
};

const pages = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...pagesBelow('docs'), ...pagesBelow('examples')];

function pagesBelow(folder: string): readonly string[] {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
  const isPage = (name: string) => name.endsWith('.md') && !name.startsWith('api/') && !name.includes('node_modules');
  return names.filter(isPage).map((name) => `${folder}/${name}`);
}

function jsonIn(page: string): readonly string[] {
  return [...readProject(page).matchAll(/^```json(?: \[[^\]\n]+\])?\n(.*?)^```$/gms)].map(([, text = '']) => text);
}

describe('the data of the documentation', () => {
  beforeAll(async () => {
    demo = await startDemoModel();
  });
  afterAll(() => demo.close());

  it('has a check for each JSON block', () => {
    const counts = (of: (page: string) => number) =>
      pages.map((page) => [page, of(page)] as const).filter(([, count]) => count > 0);
    expect(counts((page) => jsonIn(page).length).toSorted()).toEqual(
      counts((page) => CHECKS[page]?.length ?? 0).toSorted(),
    );
  });

  it.each(
    Object.entries(CHECKS).flatMap(([page, checks]) => checks.map((check, index) => [page, index + 1, check] as const)),
  )('is true: %s, block %i of JSON', async (page, number, check) => {
    expect(await check(JSON.parse(jsonIn(page)[number - 1] ?? ''))).toBe(true);
  });

  it('submits the output of docs/dialects.md to a response that waits for it', async () => {
    const [block = ''] = codeBlocks('docs/dialects.md', 'http');
    const [, path = '', body = ''] = /^POST \/v1(\S+)\n\n(.+)$/s.exec(block) ?? [];
    const fake = await startFakeUpstream();
    fake.reply({ body: toolCallStream([{ id: 'call_1', name: 'weather', arguments: '{}' }]) }, HELLO);
    const app = await startApp({ upstream: fake, options: { dialect: 'tokligence' } });
    const tools = [{ type: 'function', name: 'weather', parameters: { type: 'object' } }];
    const first = await answerOf(post(`${app.url}/responses`, { model: 'm', input: 'Hi.', tools }));
    const next = await post(app.url + path.replace('resp_…', String(first.body.id)), JSON.parse(body));
    const text = await next.text();
    await Promise.all([app.close(), fake.close()]);
    expect([next.status, text.includes('event: response.completed'), fake.requests[1]?.body]).toEqual([
      200,
      true,
      expect.objectContaining({ messages: expect.arrayContaining([expect.objectContaining({ content: '18 °C' })]) }),
    ]);
  });

  it('asks the paths that the app of docs/production.md has, and gives it the time that it needs', () => {
    const [manifest = ''] = codeBlocks('docs/production.md', 'yaml');
    const [app = ''] = codeBlocks('docs/production.md', 'ts');
    const probes = [...manifest.matchAll(/httpGet: \{ path: (\S+), port: (\d+) \}/g)].map(([, path, port]) => [
      path,
      port,
    ]);
    const seconds = (pattern: RegExp, text: string) => Number(pattern.exec(text)?.[1]?.replaceAll('_', ''));
    const grace = seconds(/terminationGracePeriodSeconds: (\d+)/, manifest);
    const pause = seconds(/'sleep', '(\d+)'/, manifest);
    const drain = seconds(/timeoutMs: ([\d_]+)/, app) / 1000;
    expect([
      probes.length,
      probes.every(([path, port]) => app.includes(`app.get('${path}'`) && app.includes(`PORT ?? ${port}`)),
      grace > pause + drain,
      manifest.includes('key: secret') && app.includes('process.env.SECRET'),
    ]).toEqual([2, true, true, true]);
  });

  it('is at the files that it names', () => {
    const named = pages.flatMap((page) =>
      [...readProject(page).matchAll(/`(examples|test|bench|scripts)\/[\w./-]+`/g)].map(([text]) => text.slice(1, -1)),
    );
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});
