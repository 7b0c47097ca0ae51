/**
 * What stands beside the models, in one app: files, vector stores and their search, batches, webhooks, containers, shell, code interpreter,
 * skills, the tools as an MCP server, several agents, and what is passed on.
 */
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { join } from 'node:path';
import * as ours from 'express-open-responses';
import { batchesApi } from 'express-open-responses/batches';
import { codeInterpreter, pyodideRuntime } from 'express-open-responses/code-interpreter';
import { containersApi } from 'express-open-responses/containers';
import { egressGuard } from 'express-open-responses/egress';
import { diskFiles, filesApi } from 'express-open-responses/files';
import { mcpApi } from 'express-open-responses/mcp';
import { bubblewrapRuntime, shell } from 'express-open-responses/shell';
import { createSkills } from 'express-open-responses/skills';
import { createVectorStores, fileSearch, memoryVectors } from 'express-open-responses/vector-stores';
import { createWebhooks } from 'express-open-responses/webhooks';

/** As many uploads as there are clients, all of which are one tenant. */
const UPLOADS = 64;
/** The tenant's list of batches, which is full from the beginning: its store's name for it, and its bytes (batch-records.ts). */
const BATCH_LIST = 'list_of_batches';
const BATCH_LIST_BYTES = 1024 * 1024;
/** The one tenant. */
const TENANT = 'soak';

/** Its router; `faults` receives what is wrong with a webhook. */
export async function productRouter({ options, folder, kept, faults }) {
  const files = diskFiles({ folder: join(folder, 'product') });
  const index = memoryVectors();
  const vectorStores = createVectorStores({ files, index, embeddings: letters, logger: false });
  const skills = createSkills({ files: diskFiles({ folder: join(folder, 'skills') }), quota: { uploads: UPLOADS } });
  const commands = bubblewrapRuntime();
  const python = pyodideRuntime();
  const tools = [
    ours.functionTools({ echo: { parameters: {}, execute: ({ text }) => text } }),
    fileSearch({ vectorStores }),
    shell({ runtime: commands, skills }),
    codeInterpreter({ runtime: python }),
  ];
  const store = ours.memoryStore({ maxResponses: kept });
  await fillBatchList(store.conversations);
  const { router } = ours.openResponses({
    ...options,
    scope: () => TENANT,
    store,
    tools,
    multiAgent: true,
    webhooks: await verifiedWebhooks(faults, ours.memoryStore({ maxResponses: kept })),
    apis: [
      filesApi({ files, quota: { uploads: UPLOADS } }),
      batchesApi({ files, quota: { batches: UPLOADS } }),
      vectorStores.api,
      containersApi({ runtime: commands }),
      skills.api,
      mcpApi(),
    ],
  });
  return [router, ours.passThroughRouter(options)];
}

/** Embeds a text as how often it has each letter. */
const letters = {
  name: 'letters',
  async embed(texts) {
    return texts.map((text) =>
      Float32Array.from({ length: 26 }, (_, at) => text.split(String.fromCharCode(97 + at)).length),
    );
  },
};

/** Adds batches that are long gone, until there is no room. */
async function fillBatchList(conversations) {
  const key = { scope: TENANT, id: BATCH_LIST };
  await conversations.put({ ...key, createdAt: Date.now(), metadata: { list: 'batch' } });
  const entry = () => ({ type: 'batch', id: `batch_${randomBytes(16).toString('hex')}` });
  while (
    (await conversations.append(key, Array.from({ length: 100 }, entry), { maxBytes: BATCH_LIST_BYTES })) !== 'full'
  );
}

/** Webhooks to a receiver of this process, which checks that each event comes once. */
async function verifiedWebhooks(faults, store) {
  const seen = new Set();
  const receiver = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request.setEncoding('utf8')) body += piece;
    const { id, data } = JSON.parse(body);
    if (seen.has(id)) faults.push(`webhook ${id} came again`);
    seen.add(id);
    // Those that came long ago are forgotten.
    if (seen.size > 1000) seen.delete(seen.values().next().value);
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ challenge: data.challenge }));
  });
  await new Promise((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const { port } = receiver.address();
  const url = `http://127.0.0.1:${port}/`;
  const endpoints = [];
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  const guard = egressGuard({ allow: [{ host: '127.0.0.1' }], schemes: ['http'], ports: [port] });
  const webhooks = createWebhooks({
    endpoints: () => endpoints,
    guard,
    secret: 'a key for all of the soak',
    store,
    logger: false,
  });
  endpoints.push({ url, secret, verification: await webhooks.verify(TENANT, { url, secret }) });
  return webhooks;
}
