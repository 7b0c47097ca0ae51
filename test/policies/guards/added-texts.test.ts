/** Texts that this server adds to a prompt itself: those of files and of skills, behind guards of the router and of a middleware in front. */

import express, { type RequestHandler } from 'express';
import OpenAI from 'openai';
import { filesApi, memoryFiles } from '../../../src/files.ts';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  guard,
  memoryStore,
  messagesRouter,
  openResponses,
  responsesRouter,
} from '../../../src/index.ts';
import { pii } from '../../../src/policies/guards/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { createSkills } from '../../../src/skills.ts';
import { startFakeUpstream } from '../../../src/testing/index.ts';
import { shell } from '../../../src/tools/shell/index.ts';
import { createVectorStores, memoryVectors } from '../../../src/vector-stores.ts';
import { manifest, zipOf } from '../../apis/skills/skills-app.ts';
import { embeddingsServerOf } from '../../apis/vector-stores/embeddings-server.ts';
import { says } from '../../engine/tools/support.ts';
import { listening } from '../../support/listening.ts';
import { javascriptRuntime } from '../../tools/code-interpreter/interpreter.ts';

const MAIL = 'bob@example.com';
const documents = { name: 'fake', read: async () => `Write to ${MAIL} now.` };
const skilled = () =>
  shell({ runtime: { ...javascriptRuntime(), runsCommands: true }, skills: createSkills({ files: memoryFiles() }) });

/** What the model server received, and the answer; the guards are the router's own, or those of a middleware in front. */
async function asked(place: 'router' | 'middleware', path: string, body: JsonObject, guards = { input: [pii()] }) {
  const fake = await startFakeUpstream();
  fake.reply(says('Fine.'));
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'k', retries: 0 });
  const own = place === 'router' ? { guards } : {};
  const tools = skilled();
  const shared = { upstream, store: memoryStore(), documents, tools, logger: false as const, scope: () => 'a', ...own };
  const before: RequestHandler[] = place === 'router' ? [] : [guard({ guards, scope: () => 'a' })];
  const routers = [responsesRouter(shared), chatCompletionsRouter(shared), messagesRouter(shared)];
  const app = await listening(express().use('/v1', ...before, ...routers));
  const headers = { 'content-type': 'application/json', 'x-api-key': 'a' };
  const answer = await fetch(`${app.url}/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await answer.text();
  const received = JSON.stringify(fake.requests.map((request) => request.body));
  await app.close();
  await Promise.all([fake.close(), upstream.close?.(), tools.close?.()]);
  return { status: answer.status, text, received };
}

const DATA = 'JVBERi0xLjQ=';
const PDF = `data:application/pdf;base64,${DATA}`;
const FILES: readonly (readonly [path: string, body: JsonObject])[] = [
  [
    '/responses',
    {
      model: 'm',
      input: [{ role: 'user', content: [{ type: 'input_file', filename: 'a.pdf', file_data: PDF }] }],
    },
  ],
  [
    '/chat/completions',
    {
      model: 'm',
      messages: [{ role: 'user', content: [{ type: 'file', file: { filename: 'a.pdf', file_data: PDF } }] }],
    },
  ],
  [
    '/messages',
    {
      model: 'm',
      max_tokens: 9,
      messages: [
        {
          role: 'user',
          content: [{ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: DATA } }],
        },
      ],
    },
  ],
];
const PLACES = ['router', 'middleware'] as const;

it.each(PLACES.flatMap((place) => FILES.map(([path, body]) => [place, path, body] as const)))(
  '[G-05] the text of a document is read by the guards of the %s: %s',
  async (place, path, body) => {
    const { status, received } = await asked(place, path, body);
    expect([status, received.includes(MAIL), received.includes('Write to [EMAIL] now.')]).toEqual([200, false, true]);
  },
);

describe('what a skill says of itself', () => {
  const withSkill = async (description: string) => {
    const data = (await zipOf({ 'sums/SKILL.md': manifest('sums', description) })).toString('base64');
    const source = { type: 'base64', media_type: 'application/zip', data };
    const skill = { type: 'inline', name: 'sums', description: 'Adds.', source };
    return [{ type: 'shell', environment: { type: 'container_auto', skills: [skill] } }];
  };
  const WAYS = [
    ['/responses', { model: 'm', input: 'Go.' }],
    ['/chat/completions', { model: 'm', messages: [{ role: 'user', content: 'Go.' }] }],
  ] as const;
  const all = PLACES.flatMap((place) => WAYS.map(([path, body]) => [place, path, body] as const));

  it.each(all)('[G-05] is told to the model as the guards of the %s leave it: %s', async (place, path, body) => {
    const { status, received } = await asked(place, path, { ...body, tools: await withSkill(`Ask ${MAIL}, or add.`) });
    expect([status, received.includes(MAIL), received.includes('Ask [EMAIL], or add.')]).toEqual([200, false, true]);
  });

  it.each(all)('[G-05] is refused where the guards of the %s block it: %s', async (place, path, body) => {
    const guards = { input: [pii({ mode: 'enforce' })] };
    const { status, text, received } = await asked(place, path, { ...body, tools: await withSkill(MAIL) }, guards);
    const { code, param } = JSON.parse(text).error;
    expect([status, code, param, received]).toEqual([400, 'content_filter', 'tools[0]', '[]']);
  });
});

it('[G-05] the query of a search in a vector store is read before the embeddings server receives it', async () => {
  const server = await embeddingsServerOf();
  const files = memoryFiles();
  const embeddings = { baseURL: server.baseURL, model: 'hash', retries: 0 };
  const vectorStores = createVectorStores({ index: memoryVectors(), embeddings, logger: false, files });
  const upstream = chatCompletionsUpstream({ baseURL: server.baseURL, apiKey: 'k' });
  const guards = { input: [pii()] };
  const all = { upstream, store: memoryStore(), guards, logger: false as const, scope: () => 'a' };
  const api = openResponses({ ...all, apis: [filesApi({ files }), vectorStores.api] });
  const app = await listening(express().use('/v1', api.router));
  const client = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'a', maxRetries: 0 });
  const { id } = await client.vectorStores.create({ name: 'Papers' });
  const answer = await fetch(`${app.url}/v1/vector_stores/${id}/search`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: `Who is ${MAIL}?` }),
  });
  const { search_query: asked } = (await answer.json()) as { readonly search_query: unknown };
  expect(asked).toEqual(['Who is [EMAIL]?']);
  await app.close();
  await api.close?.();
  await Promise.all([vectorStores.close(), upstream.close?.(), server.close()]);
});
