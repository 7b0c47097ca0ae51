/** docs/endpoints.md says for every path of OpenAI's and Anthropic's newest clients who answers it, and that is who answers. */

import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import express from 'express';
import { batchesRouter } from '../../src/batches.ts';
import { containersRouter } from '../../src/containers.ts';
import { filesRouter, memoryFiles } from '../../src/files.ts';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  memoryStore,
  messagesRouter,
  PASSED_PATHS,
  passThroughRouter,
  responsesRouter,
} from '../../src/index.ts';
import { createSkills, skillsRouter } from '../../src/skills.ts';
import { startFakeUpstream } from '../../src/testing/index.ts';
import { createVectorStores, memoryVectors, vectorStoresRouter } from '../../src/vector-stores.ts';
import { listening } from '../support/listening.ts';

const root = join(import.meta.dirname, '../..');
const packages = join(import.meta.dirname, 'node_modules');

interface Asked {
  readonly method: string;
  /** With `{id}` for each parameter. */
  readonly path: string;
}

/** What the client asks for. A list may be asked for with POST: then both methods are tried. */
function askedPaths(client: string): readonly Asked[] {
  const asked = new Map<string, Asked>();
  const folders = ['resources', 'lib'].map((folder) => join(packages, client, folder));
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  );
  for (const file of files.filter((name) => name.endsWith('.mjs'))) {
    const text = readFileSync(file, 'utf8');
    const calls = text.matchAll(
      /\b_?client\s*\.(get|post|put|patch|delete|getAPIList)\(\s*(?:path\s*)?[`'"](\/[^`'"?]+)/g,
    );
    for (const [, verb = '', pattern = ''] of calls) {
      const path = pattern.replace(/\$\{[^}]+\}/g, '{id}').replace(/^\/v1/, '');
      const method = verb === 'getAPIList' ? (path.endsWith('/search') ? 'POST' : 'GET') : verb.toUpperCase();
      asked.set(`${method} ${path}`, { method, path });
    }
  }
  return [...asked.values()];
}

interface Row {
  readonly method: string | undefined;
  readonly pattern: string;
  readonly by: string;
}

const page = readFileSync(join(root, 'docs/endpoints.md'), 'utf8');

function rowsBelow(heading: string): readonly Row[] {
  const [, section = ''] = page.split(`### ${heading}\n`);
  const [table = ''] = section.split('\n## ')[0]?.split('\n### ') ?? [];
  return [...table.matchAll(/^\| (`\/.*?|`[A-Z]+ \/.*?) \| (.+?) \|$/gm)].flatMap(([, paths = '', by = '']) =>
    [...paths.matchAll(/`(?:([A-Z]+) )?(\/[^`]+)`/g)].map(([, method, pattern = '']) => ({ method, pattern, by })),
  );
}

function rowsFor({ method, path }: Asked, rows: readonly Row[]): readonly Row[] {
  return rows.filter(
    ({ method: wanted, pattern }) =>
      (wanted === undefined || wanted === method) &&
      (pattern.endsWith('/*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern),
  );
}

const HOST = 418;
const runtime = { name: 'none', create: () => Promise.reject(new Error('There is none.')), close: async () => {} };

describe.each([
  ['OpenAI’s', 'openai7', "Who answers OpenAI's client"],
  ['Anthropic’s', '@anthropic-ai/sdk', "Who answers Anthropic's client"],
])('docs/endpoints.md for %s client', (_, client, heading) => {
  const asked = askedPaths(client);
  const rows = rowsBelow(heading);

  it('[E-07] has each path of the newest version once, and no others', () => {
    const wrong = asked
      .filter((each) => rowsFor(each, rows).length !== 1)
      .map(({ method, path }) => `${method} ${path}`);
    const unused = rows
      .filter((row) => !asked.some((each) => rowsFor(each, rows).includes(row)))
      .map(({ pattern }) => pattern);
    expect([asked.length > 200, rows.length > 20, wrong, unused]).toEqual([true, true, [], []]);
  });

  it('[E-07] says who answers', async () => {
    const fake = await startFakeUpstream();
    const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'key', retries: 0 });
    const options = { upstream, store: memoryStore(), logger: false as const };
    const files = memoryFiles();
    const embed = async (texts: readonly string[]) => texts.map(() => new Float32Array([1]));
    const index = memoryVectors();
    const vectorStores = createVectorStores({ files, index, embeddings: { name: 'none', embed }, logger: false });
    const responses = responsesRouter(options);
    const app = express().use(
      '/v1',
      responses,
      chatCompletionsRouter(options),
      messagesRouter(options),
      batchesRouter({ files, apis: [responses], store: options.store, logger: false }),
      filesRouter({ files, logger: false }),
      vectorStoresRouter({ vectorStores, logger: false }),
      containersRouter({ runtime, logger: false }),
      skillsRouter({ skills: createSkills({ files }), logger: false }),
      passThroughRouter(options),
    );
    app.use((_, res) => void res.status(HOST).end());
    const server = await listening(createServer(app));
    try {
      const wrong: string[] = [];
      for (const each of asked) {
        const { method, path } = each;
        const body = method === 'POST' ? { body: '{}', headers: { 'content-type': 'application/json' } } : {};
        const { status } = await fetch(`${server.url}/v1${path.replaceAll('{id}', 'x')}`, { method, ...body });
        const isApps = rowsFor(each, rows)[0]?.by.startsWith('your app');
        if ((status === HOST) !== isApps) wrong.push(`${method} ${path}: ${status}`);
      }
      expect(wrong).toEqual([]);
    } finally {
      await server.close();
      await upstream.close();
      await fake.close();
    }
  });
});

describe('docs/endpoints.md', () => {
  it('[E-07] names what is passed on by default', () => {
    const passed = rowsBelow("Who answers OpenAI's client")
      .filter(({ by }) => by.startsWith('`passThroughRouter`'))
      .map(({ pattern }) => `POST ${pattern}`);
    // OpenAI has no rerank, which vLLM and others serve.
    expect([...passed, 'POST /rerank'].toSorted()).toEqual([...PASSED_PATHS].toSorted());
  });
});
