/** Searches stay within what a request allows, whatever the model asks for and the engine answers. */
import type { SearchEngine } from '../../src/ports/hosted-tools/search-engine.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { webSearch } from '../../src/tools/web-search/index.ts';
import { calling } from '../apis/chat-completions/script.ts';
import { storeId, storesWith } from '../apis/vector-stores/filled-stores.ts';
import { type Asked, MESSAGES_WAYS, type Model, OPENAI_WAYS, type Way, withForbidden } from './forbidden-app.ts';

/** Files belong to a tenant, and `runTools` was given no scope. */
const { 'runTools in JSON': _json, 'runTools in a stream': _stream, ...SCOPED_WAYS } = OPENAI_WAYS;
const TERMS = [
  [{ allowed_domains: ['example.com'] }, 'allowed_domains'],
  [{ blocked_domains: ['secret.org'] }, 'blocked_domains'],
] as const;

/** Each way of asking for a search of the web within these terms. */
const WEB = TERMS.flatMap(([terms, name]) => [
  ...Object.entries(OPENAI_WAYS).map(
    ([way, ask]) => [`${name}, ${way}`, ask, [{ type: 'web_search', filters: terms }]] as const,
  ),
  ...Object.entries(MESSAGES_WAYS).map(
    ([way, ask]) =>
      [
        `${name}, ${way}`,
        ask,
        [
          { type: 'web_search_20250305', name: 'web_search', ...terms },
          { type: 'web_fetch_20250910', name: 'web_fetch', ...terms },
        ],
      ] as const,
  ),
]);

/** Knows no terms: it finds what is not allowed, too. */
const heedless: SearchEngine = {
  name: 'heedless',
  search: async () => [
    { url: 'https://example.com/', title: 'Tea', text: 'Tea is hot.' },
    { url: 'https://secret.org/', title: 'Plans', text: 'The plans are here.' },
  ],
};

/** What the model was told by tools in all rounds. */
function toldByTools(asked: readonly Asked[]): string {
  const last = asked.at(-1)?.messages ?? [];
  return last.flatMap(({ role, content }) => (role === 'tool' ? [String(content)] : [])).join('|');
}

/** What the model was told in answer to these calls, which it makes at once. */
function told(way: Way, more: JsonObject, made: NonNullable<ReturnType<Model>['calls']>, tools: object) {
  const model: Model = ({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? { text: 'Done.' } : { calls: made };
  return withForbidden(
    model,
    async (app) => {
      await way(app, more);
      return toldByTools(app.asked);
    },
    { tools: tools as never },
  );
}

describe('filters of a search of the web', () => {
  it.each(WEB)('[O-03] keep other pages from the model, whatever the engine finds: %s', async (_, way, tools) => {
    const text = await told(
      way,
      { tools },
      [calling('web_search', { query: 'plans' })],
      webSearch({ engine: heedless }),
    );
    expect([text.includes('Tea is hot.'), text.includes('plans are here')]).toEqual([true, false]);
  });

  it.each(WEB)('[O-03] keep the model from opening other pages: %s', async (_, way, tools) => {
    const provider = webSearch({ engine: heedless, pages: true });
    const text = await told(way, { tools }, [calling('open_page', { url: 'https://secret.org/' })], provider);
    expect(text).toContain('The request does not allow pages of this domain.');
  });

  it.each(WEB)('[O-03] are not widened by what the model writes into a call: %s', async (_, way, tools) => {
    const wide = { query: 'plans', filters: { allowed_domains: ['secret.org'] }, allowed_domains: ['secret.org'] };
    const text = await told(way, { tools }, [calling('web_search', wide)], webSearch({ engine: heedless }));
    expect(text).not.toContain('plans are here');
  });
});

describe('max_uses of a server tool of Anthropic’s', () => {
  it.each(Object.entries(MESSAGES_WAYS))(
    '[O-03] is not exceeded in one answer, nor in the next: %s',
    async (_, way) => {
      let searches = 0;
      const engine: SearchEngine = {
        ...heedless,
        search: async () => [{ url: 'https://e.com/', text: `${++searches}` }] as never,
      };
      const twice = (round: number) =>
        [1, 2].map((at) => calling('web_search', { query: `${round} ${at}` }, `call_${round}_${at}`));
      await withForbidden(
        (_asked, round) => (round < 3 ? { calls: twice(round) } : { text: 'Done.' }),
        (app) => way(app, { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 1 }] }),
        { tools: webSearch({ engine }) },
      );
      expect(searches).toBe(1);
    },
  );
});

describe('vector_store_ids and filters of file_search', () => {
  let stores: Awaited<ReturnType<typeof storesWith>>;
  beforeAll(async () => {
    stores = await storesWith({
      1: { name: 'tea.md', text: 'Tea is hot.' },
      2: { name: 'plans.md', text: 'The plans are here.' },
    });
  });
  afterAll(() => stores.close());

  const queries = ['Tea is hot.', 'The plans are here.'];
  /** What the model has no fields for. */
  const wide = { queries, vector_store_ids: [storeId('2')], filters: null };

  it.each(Object.entries(SCOPED_WAYS))('[O-03] keep other stores from the model: %s', async (_, way) => {
    const tools = [{ type: 'file_search', vector_store_ids: [storeId('1')] }];
    const text = await told(way, { tools }, [calling('file_search', { queries })], stores.tools);
    expect([text.includes('Tea is hot.'), text.includes('plans are here')]).toEqual([true, false]);
  });

  it.each(Object.entries(SCOPED_WAYS))(
    '[O-03] are not widened by what the model writes into a call: %s',
    async (_, way) => {
      const tools = [{ type: 'file_search', vector_store_ids: [storeId('1')] }];
      const text = await told(way, { tools }, [calling('file_search', wide)], stores.tools);
      expect([text === '', text.includes('plans are here')]).toEqual([false, false]);
    },
  );

  it.each(Object.entries(SCOPED_WAYS))('[O-03] leave nothing where no file passes the filter: %s', async (_, way) => {
    const filters = { type: 'eq', key: 'kind', value: 'public' };
    const tools = [{ type: 'file_search', vector_store_ids: [storeId('1'), storeId('2')], filters }];
    const text = await told(way, { tools }, [calling('file_search', { queries })], stores.tools);
    expect([text === '', /Tea is hot|plans are here/.test(text)]).toEqual([false, false]);
  });
});
