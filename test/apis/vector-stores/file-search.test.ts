/** The tool `file_search` over real HTTP: its calls, what the model receives, citations and later turns. */
import type { JsonObject } from '../../../src/protocol/record.ts';
import { calls, chatBody, says } from '../../engine/tools/support.ts';
import { CATS, filledStore, refusalOf, startVectorsApp, type VectorsApp } from './vectors-app.ts';

let app: VectorsApp;
let store: string;
let cats: string;

beforeEach(async () => {
  app = await startVectorsApp();
  const filled = await filledStore(app.client);
  store = filled.store.id;
  cats = filled.cats.id;
});
afterEach(() => app.close());

const markOf = (id: string, name: string) => `【${id.slice(5, 11)}†${name}】`;
const searches = (...queries: readonly string[]) => calls(['call_0', 'file_search', JSON.stringify({ queries })]);
const INCLUDE = ['file_search_call.results'] as const;

function asking(more: JsonObject = {}) {
  const tool = { type: 'file_search', vector_store_ids: [store], max_num_results: 1, ...more };
  // The cast: some of them are wrong.
  return { model: 'm', input: 'What do cats do?', tools: [tool as never] };
}

/** The results of tools in the last request to the model. */
function sentToModel(): readonly unknown[] {
  const last = app.fake.requests.map(chatBody).at(-1);
  return (last?.messages ?? []).filter(({ role }) => role === 'tool').map(({ content }) => content);
}

describe('a search in files', () => {
  it('[X-14] sends the model passages below their marks, and the client which files the answer cites', async () => {
    app.fake.reply(searches('cats purr'), says(`They purr ${markOf(cats, 'cats.md')}.`));
    const response = await app.client.responses.create({ ...asking(), include: [...INCLUDE] });
    const [call, message] = response.output;
    expect(call).toEqual({
      id: expect.stringMatching(/^fs_/),
      type: 'file_search_call',
      status: 'completed',
      queries: ['cats purr'],
      results: [{ file_id: cats, filename: 'cats.md', score: expect.any(Number), attributes: {}, text: CATS }],
    });
    expect(message).toMatchObject({
      content: [
        { text: 'They purr.', annotations: [{ type: 'file_citation', file_id: cats, filename: 'cats.md', index: 9 }] },
      ],
    });
    expect(sentToModel()).toEqual([`${markOf(cats, 'cats.md')}\n${CATS}`]);
  });

  it('[X-14] has the events of OpenAI, and citations before the text is done', async () => {
    app.fake.reply(searches('cats purr'), says(`They purr${markOf(cats, 'cats.md')} and sleep.`));
    const types: string[] = [];
    let text = '';
    for await (const event of await app.client.responses.create({ ...asking(), stream: true })) {
      types.push(event.type);
      if (event.type === 'response.output_text.delta') text += event.delta;
    }
    expect(types.filter((type) => !type.endsWith('.delta'))).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.file_search_call.in_progress',
      'response.file_search_call.searching',
      'response.file_search_call.completed',
      'response.output_item.done',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.annotation.added',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    expect(text).toBe('They purr and sleep.');
  });

  it('[X-14] shows results to clients that include them, and to no others', async () => {
    app.fake.reply(searches('cats'), says('Yes.'));
    const { id, output } = await app.client.responses.create(asking());
    const plain = await app.client.responses.retrieve(id);
    const included = await app.client.responses.retrieve(id, { include: [...INCLUDE] });
    expect(
      [output, plain.output, included.output].map(([call]) => (call as { results?: unknown[] }).results?.length),
    ).toEqual([undefined, undefined, 1]);
  });

  it('[X-14] is sent again in later turns, which may cite it', async () => {
    const { client, fake } = app;
    const cited = says(`Purr${markOf(cats, 'cats.md')}`);
    fake.reply(searches('cats'), says('Yes.'), cited, cited);
    const first = await client.responses.create(asking());
    const next = await client.responses.create({ ...asking(), previous_response_id: first.id });
    const byId = sentToModel();
    const history = [
      { role: 'user', content: 'What do cats do?' },
      ...first.output,
      { role: 'user', content: 'Sure?' },
    ];
    // The cast: the output of a turn is input for the next.
    const whole = await client.responses.create({ ...asking(), input: history as never });
    const mark = markOf(cats, 'cats.md');
    expect([byId, sentToModel()]).toEqual([[`${mark}\n${CATS}`], [`${mark}\n${CATS}`]]);
    for (const { output } of [next, whole])
      expect(output).toMatchObject([{ content: [{ text: 'Purr', annotations: [{ file_id: cats }] }] }]);
  });

  it('[X-14] goes on with a search that finds nothing, and with one that fails', async () => {
    app.fake.reply(searches('cats'), says('None.'));
    const filters = { type: 'eq', key: 'kind', value: 'dog' };
    const none = await app.client.responses.create({ ...asking({ filters }), include: [...INCLUDE] });
    expect([sentToModel(), none.output[0]]).toMatchObject([
      ['Nothing was found.'],
      { status: 'completed', results: [] },
    ]);
    app.embeddings.answerWith((_asked, res) => void res.destroy());
    app.fake.reply(searches('cats'), says('It failed.'));
    const failed = await app.client.responses.create({ ...asking(), include: [...INCLUDE] });
    const why = expect.stringContaining('The embeddings server could not be reached');
    expect([sentToModel(), failed.output[0]]).toMatchObject([[why], { status: 'failed', results: [{ text: why }] }]);
  });

  it.each([
    [
      'an unknown vector store',
      { vector_store_ids: [`vs_${'0'.repeat(32)}`] },
      [404, 'vector_store_not_found', 'tools[0].vector_store_ids'],
    ],
    ['no vector store', { vector_store_ids: [] }, [400, 'invalid_value', 'tools[0].vector_store_ids']],
    ['ids that are none', { vector_store_ids: [1] }, [400, 'invalid_value', 'tools[0].vector_store_ids']],
    ['a wrong filter', { filters: { type: 'like' } }, [400, 'invalid_value', 'tools[0].filters.type']],
    ['too many results', { max_num_results: 51 }, [400, 'invalid_value', 'tools[0].max_num_results']],
  ])('[X-14] with %s is refused before the model is asked', async (_, more, refusal) => {
    expect(await refusalOf(app.client.responses.create(asking(more)))).toEqual(refusal);
    expect(app.fake.requests.length).toBe(0);
  });

  it('[X-14] in another tenant’s vector store is refused as one in none', async () => {
    expect(await refusalOf(app.other.responses.create(asking()))).toEqual([
      404,
      'vector_store_not_found',
      'tools[0].vector_store_ids',
    ]);
  });

  it('[X-14] runs in the background, too', async () => {
    app.fake.reply(searches('cats'), says(`Purr${markOf(cats, 'cats.md')}.`));
    const { id } = await app.client.responses.create({ ...asking(), background: true });
    let response = await app.client.responses.retrieve(id);
    while (response.status === 'queued' || response.status === 'in_progress')
      response = await app.client.responses.retrieve(id);
    expect(response.output).toMatchObject([
      { type: 'file_search_call' },
      { content: [{ text: 'Purr.', annotations: [{ file_id: cats }] }] },
    ]);
  });
});
