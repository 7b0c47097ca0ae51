/** Vector stores and `file_search` as SDKs ask for them. */
import { Agent, fileSearchTool, OpenAIProvider, Runner } from '@openai/agents';
import {
  CATS,
  clientOf,
  filledStore,
  RENT,
  startVectorsApp,
  type VectorsApp,
} from '../apis/vector-stores/vectors-app.ts';
import { calls, chatBody, says } from '../engine/tools/support.ts';
import { pythonPackage } from '../support/python-package.ts';
import { ended, openaiVersions } from './hosted-tools.ts';
import { startPythonClient } from './python-client.ts';

const openai = await pythonPackage('openai', '3.54.0');
const agents = await pythonPackage('openai-agents', '0.24.0', { imported: 'agents', along: ['openai==3.54.0'] });

let app: VectorsApp;
beforeEach(async () => {
  app = await startVectorsApp();
});
afterEach(() => app.close());

const searches = () => calls(['call_0', 'file_search', JSON.stringify({ queries: ['cats purr'] })]);
const markOf = (id: string) => `【${id.slice(5, 11)}†cats.md】`;
const CITED = { type: 'file_citation', filename: 'cats.md', index: 9 };

/** The results of tools in the last request to the model. */
function sentToModel(): readonly unknown[] {
  const last = app.fake.requests.map(chatBody).at(-1);
  return (last?.messages ?? []).filter(({ role }) => role === 'tool').map(({ content }) => content);
}

openai.describe('openai-python', () => {
  it('[X-14] keeps files, searches them, and reads the tool’s search and citation', async () => {
    const client = startPythonClient(openai.python, 'vector_stores_client.py');
    try {
      // The model cites whatever it received.
      app.fake.reply(searches(), ({ body }) => {
        const [content] = (body as { messages: { role: string; content: string }[] }).messages
          .filter(({ role }) => role === 'tool')
          .map((message) => message.content);
        return says(`They purr${content?.split('\n')[0]}.`);
      });
      const texts = { 'cats.md': CATS, 'rent.txt': RENT };
      const seen = await client.run({ url: app.url, texts, query: 'when is the rent due', question: 'Cats?' });
      // The cast: a list of ids, which the script prints.
      const [cats = ''] = seen.ids as readonly string[];
      expect(seen).toMatchObject({
        batch: ['completed'],
        attributes: { kind: 'animal' },
        found: [['rent.txt', RENT]],
        content: [CATS],
        listed: ['Papers'],
        output: [
          {
            type: 'file_search_call',
            status: 'completed',
            queries: ['cats purr'],
            results: [{ file_id: cats, text: CATS }],
          },
          { content: [{ text: 'They purr.', annotations: [{ ...CITED, file_id: cats }] }] },
        ],
        gone: true,
      });
    } finally {
      await client.close();
    }
  });
});

agents.describe('openai-agents', () => {
  it.each([false, true])('[X-14] runs FileSearchTool and sends its items back; streamed: %s', async (stream) => {
    const { store, cats } = await filledStore(clientOf(app.url, 'client-key'));
    const client = startPythonClient(agents.python, 'agents_client.py');
    try {
      app.fake.reply(searches(), says(`They purr${markOf(cats.id)}.`), says('Done.'));
      const tools = { file_search: { vector_store_ids: [store.id], max_num_results: 1, include_search_results: true } };
      const { texts } = await client.run({ url: app.url, tools, inputs: ['Cats?', 'Again?'], stream });
      expect([texts, sentToModel()]).toEqual([['They purr.', 'Done.'], [`${markOf(cats.id)}\n${CATS}`]]);
    } finally {
      await client.close();
    }
  });
});

describe('@openai/agents', () => {
  it.each([true, false])('[X-14] runs fileSearchTool and sends its items back; streamed: %s', async (stream) => {
    const { store, cats } = await filledStore(app.client);
    app.fake.reply(searches(), says(`They purr${markOf(cats.id)}.`), says('Done.'));
    const modelProvider = new OpenAIProvider({ apiKey: 'alice', baseURL: app.url, useResponses: true });
    const runner = new Runner({ modelProvider, tracingDisabled: true });
    const tool = fileSearchTool([store.id], { maxNumResults: 1, includeSearchResults: true });
    const agent = new Agent({ name: 'a', model: 'm', tools: [tool] });
    const first = await ended(runner, agent, 'Cats?', stream);
    const again = [...first.history, { role: 'user', content: 'Again?' } as const];
    const second = await ended(runner, agent, again, stream);
    expect([first.finalOutput, second.finalOutput, sentToModel()]).toEqual([
      'They purr.',
      'Done.',
      [`${markOf(cats.id)}\n${CATS}`],
    ]);
  });
});

describe.each(openaiVersions)('%s', (_, Client) => {
  it('[X-14] builds the search and the citation from their events', async () => {
    const { store, cats } = await filledStore(app.client);
    app.fake.reply(searches(), says(`They purr${markOf(cats.id)}.`));
    const client = new Client({ baseURL: app.url, apiKey: 'alice', maxRetries: 0 });
    const tools = [{ type: 'file_search', vector_store_ids: [store.id] }];
    // The cast: the request is one that its types allow.
    const body = { model: 'm', input: 'Cats?', tools } as unknown as Parameters<typeof client.responses.stream>[0];
    const { output } = await client.responses.stream(body).finalResponse();
    expect(output).toMatchObject([
      { type: 'file_search_call', queries: ['cats purr'] },
      { content: [{ text: 'They purr.', annotations: [{ ...CITED, file_id: cats.id }] }] },
    ]);
  });
});
