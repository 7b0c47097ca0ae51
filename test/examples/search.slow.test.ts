/** The example app searches: made-up pages for its demo model, or a SearXNG instance. */
import OpenAI from 'openai';
import { startSite } from '../tools/egress/site.ts';
import { startExample } from './support.ts';

/** The output of one search for lighthouses. */
async function found(env: Readonly<Record<string, string>> = {}) {
  const example = await startExample(env);
  try {
    const client = new OpenAI({ baseURL: `${example.url}/v1`, apiKey: 'any', maxRetries: 0 });
    const { output } = await client.responses.create({
      model: 'demo',
      input: 'Please search the web for "lighthouses".',
      tools: [{ type: 'web_search' }],
      include: ['web_search_call.action.sources'],
    });
    return output;
  } finally {
    await example.close();
  }
}

describe('the example app', () => {
  it('[B-41] searches with its demo model, whose answer cites what was found', async () => {
    const url = 'https://example.com/lighthouses/1';
    expect(await found()).toMatchObject([
      { type: 'web_search_call', action: { query: 'lighthouses', sources: [{ url }, {}, {}] } },
      { content: [{ annotations: [{ type: 'url_citation', url, title: 'Guide: lighthouses' }, {}, {}] }] },
    ]);
  });

  it('[B-41] searches with SearXNG where one is set', async () => {
    const site = await startSite(
      (_, res) => void res.end(JSON.stringify({ results: [{ url: 'https://e.com/', title: 'E' }] })),
    );
    try {
      const [search] = await found({ SEARXNG_URL: `http://127.0.0.1:${site.port}` });
      expect(search).toMatchObject({ action: { sources: [{ url: 'https://e.com/' }] } });
      expect(site.requests[0]?.url).toBe('/search?q=lighthouses&format=json');
    } finally {
      await site.close();
    }
  });
});
