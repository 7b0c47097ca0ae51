/** openapi-typescript makes types of the OpenAPI document, which OpenAI's and everybody's generated clients would use. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { batchesApi } from '../../src/batches.ts';
import { containersApi } from '../../src/containers.ts';
import { filesApi, memoryFiles } from '../../src/files.ts';
import { chatCompletionsUpstream, openResponses } from '../../src/index.ts';
import { mcpApi } from '../../src/mcp.ts';
import { createSkills } from '../../src/skills.ts';
import { createVectorStores, memoryVectors } from '../../src/vector-stores.ts';
import { PATIENCE_MS } from '../support/patience.ts';

const run = promisify(execFile);
const modules = join(import.meta.dirname, 'node_modules');

/** Uses of the types: a line that must not compile says so. */
const USES = `
import type { components, operations } from './api';

type Request = operations['createResponse']['requestBody']['content']['application/json'];
type Answer = operations['createResponse']['responses'][200]['content']['application/json'];
const request: Request = { model: 'm', input: [{ role: 'user', content: 'Hi' }], temperature: 1 };
// @ts-expect-error: a request names its model.
const unnamed: Request = { input: 'Hi' };
declare const answer: Answer;
const status: 'completed' | 'failed' | 'queued' | 'in_progress' | 'incomplete' | 'cancelled' = answer.status;
declare const error: components['schemas']['Error'];
const message: string = error.error.message;
export { request, unnamed, status, message };
`;

it(
  '[E-15] openapi-typescript makes types of the document, which compile and are of use',
  async () => {
    const files = memoryFiles();
    const embeddings = { name: 'none', embed: async () => [] };
    const vectorStores = createVectorStores({ files, index: memoryVectors(), embeddings });
    const upstream = chatCompletionsUpstream({ baseURL: 'http://127.0.0.1:1/v1' });
    /** Nothing runs here. */
    const runtime = { name: 'none', create: () => Promise.reject(new Error('There is none.')), close: async () => {} };
    const apis = [filesApi({ files }), vectorStores.api, batchesApi({ files }), containersApi({ runtime, files })];
    const api = openResponses({ upstream, apis: [...apis, createSkills({ files }).api, mcpApi({ tools: [] })] });
    const document = await (await api.fetch(new Request('http://host/openapi.json') as never)).text();
    await api.close();
    const folder = await mkdtemp(join(tmpdir(), 'openapi-'));
    const [source, types] = [join(folder, 'openapi.json'), join(folder, 'api.d.ts')];
    await writeFile(source, document);
    await run(process.execPath, [join(modules, 'openapi-typescript/bin/cli.js'), source, '-o', types]);
    await writeFile(join(folder, 'uses.ts'), USES);
    const tsc = [join(modules, 'typescript/bin/tsc'), '--noEmit', '--strict'];
    await run(process.execPath, [...tsc, join(folder, 'uses.ts')], { cwd: folder }).catch(
      ({ stdout }: { readonly stdout: string }) => {
        throw new Error(stdout);
      },
    );
    const written = await readFile(types, 'utf8');
    for (const name of ['createVectorStoreFileBatch', 'createContainerFile', 'createSkillVersion', 'sendMcpMessage'])
      expect(written).toContain(name);
    await rm(folder, { recursive: true });
  },
  PATIENCE_MS,
);
