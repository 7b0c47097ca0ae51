/** The jobs over what stands beside the models. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { COMPLETED, expect, expectEnd, stream, upload } from './answers.mjs';

const ENDED = new Set(['completed', 'failed', 'cancelled', 'expired']);
const GET = { method: 'GET' };
const DELETE = { method: 'DELETE' };
const BETA = { headers: { 'content-type': 'application/json', 'openai-beta': 'responses_multi_agent=v1' } };

const json = (answer) => JSON.parse(expect(answer));

/** Asks until the thing has ended, and returns it. */
async function ended(ask, path) {
  for (;;) {
    const got = json(await ask(path, undefined, GET));
    if (ENDED.has(got.status)) return got;
    await sleep(50);
  }
}

async function batchOf({ ask, base }, lines) {
  const text = lines.map((body, at) => ({ custom_id: `line ${at}`, method: 'POST', url: '/v1/responses', body }));
  const file = await upload(ask, base, { purpose: 'batch', text: text.map((line) => JSON.stringify(line)).join('\n') });
  const terms = { input_file_id: file, endpoint: '/v1/responses', completion_window: '24h' };
  return { file, id: json(await ask(`${base}/batches`, terms)).id };
}

/** Answers with a stream in which a hosted tool has run. */
async function withTool({ ask, base }, plan, tool, more = {}) {
  const text = expectEnd(await ask(`${base}/responses`, stream(plan, { tools: [tool], ...more })), COMPLETED);
  if (!text.includes(`"type":"${tool.type}_call"`)) throw new Error(`There is no call of ${tool.type}.`);
  return text;
}

/** By name. */
export const PRODUCT_JOBS = {
  async batch({ ask, base }) {
    const { file, id } = await batchOf(
      { ask, base },
      Array.from({ length: 5 }, () => ({ model: 'json:5', input: 'Hi' })),
    );
    const batch = await ended(ask, `${base}/batches/${id}`);
    if (batch.request_counts.completed !== 5) throw new Error(`A batch ended as ${JSON.stringify(batch)}.`);
    const lines = expect(await ask(`${base}/files/${batch.output_file_id}/content`, undefined, GET));
    if (lines.trim().split('\n').length !== 5) throw new Error('A line is missing.');
    for (const each of [file, batch.output_file_id]) expect(await ask(`${base}/files/${each}`, undefined, DELETE));
  },
  async 'batch, cancelled'({ ask, base }) {
    const { file, id } = await batchOf(
      { ask, base },
      Array.from({ length: 20 }, () => ({ model: 'late:5:100', input: 'Hi' })),
    );
    expect(await ask(`${base}/batches/${id}/cancel`, {}));
    const { output_file_id: output } = await ended(ask, `${base}/batches/${id}`);
    for (const each of [file, ...(output ? [output] : [])])
      expect(await ask(`${base}/files/${each}`, undefined, DELETE));
  },
  async 'background, with a webhook'({ ask, base }) {
    const { id } = json(await ask(`${base}/responses`, { model: 'json:5', input: 'Hi', background: true }));
    await ended(ask, `${base}/responses/${id}`);
  },
  async 'vector store'({ ask, base }) {
    const file = await upload(ask, base, { purpose: 'assistants', text: 'The quick brown fox jumps. '.repeat(200) });
    const { id } = json(await ask(`${base}/vector_stores`, { name: 'foxes' }));
    json(await ask(`${base}/vector_stores/${id}/files`, { file_id: file }));
    await ended(ask, `${base}/vector_stores/${id}/files/${file}`);
    const found = json(await ask(`${base}/vector_stores/${id}/search`, { query: 'fox' }));
    if (found.data.length === 0) throw new Error('Nothing was found.');
    await withTool({ ask, base }, 'search', { type: 'file_search', vector_store_ids: [id] });
    expect(await ask(`${base}/vector_stores/${id}`, undefined, DELETE));
    expect(await ask(`${base}/files/${file}`, undefined, DELETE));
  },
  async 'shell in a container'({ ask, base }) {
    const { id } = json(await ask(`${base}/containers`, { name: 'soak' }));
    const environment = { type: 'container_reference', container_id: id };
    const text = await withTool({ ask, base }, 'shell', { type: 'shell', environment });
    if (!text.includes('"stdout":"fox\\n"')) throw new Error(`The commands ended as ${text.slice(-2000)}`);
    const { data } = json(await ask(`${base}/containers/${id}/files`, undefined, GET));
    expect(await ask(`${base}/containers/${id}/files/${data[0].id}/content`, undefined, GET));
    expect(await ask(`${base}/containers/${id}`, undefined, DELETE));
  },
  async skill({ ask, base }) {
    const manifest = '---\nname: sums\ndescription: Adds numbers.\n---\nAdd them.\n';
    const parts = { field: 'files[]', name: 'sums/SKILL.md', text: manifest };
    const id = await upload(ask, base, { ...parts, path: 'skills' });
    expect(await ask(`${base}/skills/${id}/content`, undefined, GET));
    expect(await ask(`${base}/skills/${id}`, undefined, DELETE));
  },
  async 'MCP client'({ port, base, counted }) {
    const client = new Client({ name: 'soak', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}${base}/mcp`)));
    counted.requests += 3;
    const { content } = await client.callTool({ name: 'echo', arguments: { text: 'Hi' } });
    if (content[0].text !== 'Hi') throw new Error(`The tool answered ${JSON.stringify(content)}.`);
    await client.close();
  },
  async agents({ ask, base }) {
    const body = stream('agents', { multi_agent: { enabled: true } });
    const text = expectEnd(await ask(`${base}/responses`, body, BETA), COMPLETED);
    if (!text.includes('/root/reader')) throw new Error('No agent was begun.');
  },
  async embeddings({ ask, base }) {
    const { data } = json(await ask(`${base}/embeddings`, { model: 'embeddings:64', input: 'Hi' }));
    if (data[0].embedding.length !== 64) throw new Error('The embedding is another one.');
  },
};

/** Jobs whose server begins a large process for each. */
export const RARE_JOBS = {
  'code interpreter': (client) => withTool(client, 'python', { type: 'code_interpreter', container: { type: 'auto' } }),
};
