/** Searches over HTTP: the model asks, the server searches, the model goes on with what was found. */

import { memoryStore } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import {
  calls,
  chatBody,
  played,
  says,
  shape,
  type ToolsApp,
  toolTexts,
  typesOf,
  withTools,
} from '../../engine/tools/support.ts';
import { openaiClient, post } from '../../support/responses-client.ts';
import type { WireResponse } from '../../support/wire-schemas.ts';
import { ASKING, INCLUDING, PAGES, SENT_RESULTS, searches, searching } from './support.ts';

const SOURCES = PAGES.map(({ url }) => ({ type: 'url', url }));

/** The results of calls in the last request to the model. */
function lastSent({ fake }: ToolsApp): readonly unknown[] {
  const [last] = fake.requests.slice(-1).map(chatBody);
  return Object.values(toolTexts(last ?? { messages: [] }));
}

async function responseTo({ url }: ToolsApp, body: JsonObject): Promise<WireResponse> {
  const { status, text } = await post(url, body);
  if (status !== 200) throw new Error(text);
  return JSON.parse(text);
}

describe('a request with web_search', () => {
  it('[V-37] shows the model the wrong arguments that it wrote, beside what is wrong', async () => {
    const written = '{"queries":["lighthouses"]}';
    const script = [calls(['call_0', 'web_search', written]), says('Sorry.')];
    const { requested, response } = await played({ tools: searching().tools }, script, ASKING);
    const call = requested[1]?.messages.find(({ tool_calls: made }) => made);
    expect([call?.tool_calls, shape(response)]).toEqual([
      [{ id: 'call_0', type: 'function', function: { name: 'web_search', arguments: written } }],
      ['web_search_call failed', 'message completed'],
    ]);
  });

  it('[B-41] has the model’s search run in one response, reported in OpenAI’s order', async () => {
    const { tools } = searching();
    const script = [searches('pages'), says('Found.')];
    const { response, events, requested, notes } = await played({ tools }, script, INCLUDING);
    const seed = response.id.slice('resp_'.length);
    expect(typesOf(events).slice(2, 8)).toEqual([
      'output_item.added',
      'web_search_call.in_progress',
      'web_search_call.searching',
      'web_search_call.completed',
      'output_item.done',
      'output_item.added',
    ]);
    expect(response.output[0]).toEqual({
      id: `ws_${seed}0000`,
      type: 'web_search_call',
      status: 'completed',
      action: { type: 'search', query: 'pages', queries: ['pages'], sources: SOURCES },
      results: PAGES,
    });
    expect(requested[0]?.tools?.map((tool) => tool.function.name)).toEqual(['web_search', 'open_page']);
    expect([response.tools, requested[1] && toolTexts(requested[1]), notes]).toEqual([
      ASKING.tools,
      { call_0: SENT_RESULTS },
      [],
    ]);
  });

  it('[B-41] begins as an empty search, and shows results and sources only to clients that include them', async () => {
    const { tools } = searching();
    const { response, events } = await played({ tools }, [searches('pages'), says('Found.')], ASKING);
    const started = events.find(({ type }) => type === 'response.output_item.added');
    const item = { id: response.output[0]?.id, type: 'web_search_call' };
    expect([started, response.output[0]]).toEqual([
      expect.objectContaining({
        item: { ...item, status: 'in_progress', action: { type: 'search', query: '', queries: [] } },
      }),
      { ...item, status: 'completed', action: { type: 'search', query: 'pages', queries: ['pages'] } },
    ]);
  });

  it.each(['web_search_2025_08_26', 'web_search_preview', 'web_search_preview_2025_03_11'])(
    '[B-41] is served by any of its names: %s',
    async (type) => {
      const { tools } = searching();
      await withTools({ tools }, async (app) => {
        app.fake.reply(searches('pages'), says('Found.'));
        const response = await responseTo(app, { tools: [{ type }], tool_choice: { type } });
        expect([shape(response), app.fake.requests.map(chatBody)[0]?.tool_choice, app.notes]).toEqual([
          ['web_search_call completed', 'message completed'],
          'required',
          [],
        ]);
      });
    },
  );

  it('[B-41] is not offered to requests without it', async () => {
    const { tools } = searching();
    const { requested } = await played({ tools }, [says('Hello.')]);
    expect(requested[0]?.tools).toBeUndefined();
  });

  it('[B-41] informs the model of a failed search, and goes on', async () => {
    const { tools } = searching(() => Promise.reject(new Error('The search engine is down.')));
    const script = [searches('pages'), says('I cannot search.')];
    const { response, events, requested } = await played({ tools }, script, INCLUDING);
    expect([response.output[0], shape(response), requested[1] && toolTexts(requested[1])]).toMatchObject([
      { action: { type: 'search', query: 'pages' }, results: [{ text: 'The search engine is down.' }] },
      ['web_search_call failed', 'message completed'],
      { call_0: 'The search engine is down.' },
    ]);
    expect(typesOf(events)).not.toContain('web_search_call.completed');
  });

  it('[B-41] passes the request’s terms to the engine', async () => {
    const { tools, asked } = searching();
    const tool = {
      type: 'web_search',
      filters: {
        allowed_domains: ['https://example.com/', 'Example.org', '.example.net', 'example.info.'],
        blocked_domains: ['*.bad.example.com'],
      },
      user_location: { type: 'approximate', city: 'Berlin', country: 'DE' },
      search_context_size: 'low',
    };
    await played({ tools }, [searches('pages'), says('Found.')], { tools: [tool] });
    expect(asked[0]).toMatchObject({
      query: 'pages',
      maxResults: 4,
      allowedDomains: ['example.com', 'example.org', 'example.net', 'example.info'],
      blockedDomains: ['bad.example.com'],
      userLocation: { city: 'Berlin', country: 'DE' },
    });
  });

  it('[B-41] leaves out pages of other domains, repeated ones and those without an address', async () => {
    const given = [
      ...PAGES,
      ...PAGES,
      { url: 'https://notexample.com/', title: 'x', text: 'x' },
      { url: 'https://bad.example.com/', title: 'x', text: 'x' },
      { url: 'https://bad.example.com./', title: 'x', text: 'x' },
      { url: 'javascript:alert(1)', title: 'x', text: 'x' },
      { text: 'Of any domain.' },
      'nothing',
    ];
    const { tools } = searching(() => given);
    const filters = { allowed_domains: ['example.com'], blocked_domains: ['.bad.example.com'] };
    const body = { ...INCLUDING, tools: [{ type: 'web_search', filters }] };
    const { response } = await played({ tools }, [searches('pages'), says('Found.')], body);
    expect(response.output[0]).toMatchObject({ results: [PAGES[0]], action: { sources: [SOURCES[0]] } });
  });

  it('[B-41] refuses filters that are none, rather than search everywhere', async () => {
    const { tools, asked } = searching();
    const body = { tools: [{ type: 'web_search', filters: { allowed_domains: ['not a domain'] } }] };
    const { response } = await played({ tools }, [searches('pages'), says('No.')], body);
    expect([shape(response)[0], asked]).toEqual(['web_search_call failed', []]);
  });

  it('[B-41] limits a thousand results in number and length, and marks what was cut', async () => {
    const { tools } = searching(
      () =>
        Array.from({ length: 1000 }, (_, at) => ({
          url: `https://e.com/${at}`,
          title: 't'.repeat(999),
          text: '🧑'.repeat(9999),
        })),
      { maxResults: 3, maxCharacters: 30 },
    );
    const { response } = await played({ tools }, [searches('pages'), says('Found.')], INCLUDING);
    const [item] = response.output as readonly JsonObject[];
    const results = (item?.results ?? []) as readonly JsonObject[];
    expect(results.map(({ text }) => text)).toEqual(['🧑🧑🧑🧑🧑…cut', '🧑🧑🧑🧑…cut', '🧑🧑…cut']);
    expect(String(results[0]?.title).length).toBeLessThan(310);
  });

  it('[B-41] runs the searches of one round side by side', async () => {
    const { tools } = searching();
    const { response } = await played({ tools }, [searches('one', 'two'), says('Found.')], ASKING);
    expect(shape(response)).toEqual(['web_search_call completed', 'web_search_call completed', 'message completed']);
  });

  it.each([{ query: '' }, {}, { query: 7 }])('[B-41] refuses a search without words: %j', async (args) => {
    const { tools, asked } = searching();
    const { response } = await played(
      { tools },
      [calls(['call_0', 'web_search', JSON.stringify(args)]), says('No.')],
      ASKING,
    );
    expect([shape(response), asked]).toEqual([['web_search_call failed', 'message completed'], []]);
  });
});

describe('a later turn', () => {
  it.each([
    ['by previous_response_id', (first: WireResponse) => ({ previous_response_id: first.id })],
    [
      'with the items that the client was shown',
      (first: WireResponse) => ({ input: [...first.output, { role: 'user', content: 'On.' }] }),
    ],
  ])('[B-41] sends the model the results again: %s', async (_, continued) => {
    await withTools({ tools: searching().tools }, async (app) => {
      app.fake.reply(searches('pages'), says('Found.'), says('Again.'));
      const first = await responseTo(app, { input: 'Search.', ...ASKING });
      await responseTo(app, { input: 'On.', ...ASKING, ...continued(first) });
      expect(lastSent(app)).toEqual([SENT_RESULTS]);
    });
  });

  it('[B-41] sends the model those of a conversation, and shows them in its items only to who includes them', async () => {
    await withTools({ tools: searching().tools, store: memoryStore() }, async (app) => {
      app.fake.reply(searches('pages'), says('Found.'), says('Again.'));
      const client = openaiClient(app.url);
      const { id: conversation } = await client.conversations.create();
      await responseTo(app, { input: 'Search.', ...ASKING, conversation });
      await responseTo(app, { input: 'On.', ...ASKING, conversation });
      const { data } = await client.conversations.items.list(conversation);
      expect([lastSent(app), data.find(({ type }) => type === 'web_search_call')]).toEqual([
        [SENT_RESULTS],
        expect.not.objectContaining({ results: expect.anything() }),
      ]);
    });
  });

  it('[B-41] reports that the results were not kept, where nobody has them', async () => {
    await withTools({ tools: searching().tools }, async (app) => {
      app.fake.reply(says('Again.'));
      const item = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'x' } };
      await responseTo(app, {
        ...ASKING,
        input: [{ role: 'user', content: 'Search.' }, item, { role: 'user', content: 'On.' }],
      });
      expect(lastSent(app)).toEqual(['(The results were not kept.)']);
    });
  });
});
