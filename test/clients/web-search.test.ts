/** Web search as SDKs ask for it: they read its events and citations, and send back what the model needs. */
import { Agent, OpenAIProvider, type RunItem, Runner, webSearchTool } from '@openai/agents';
import type * as ai from 'ai';
import type OpenAI from 'openai';
import { says, type ToolsApp, withTools } from '../engine/tools/support.ts';
import { INCLUDING, PAGES, SENT_RESULTS, searches, searching } from '../tools/web-search/support.ts';
import { ended, lastSent, openaiVersions, partTypes, vercelVersions } from './hosted-tools.ts';

const ANSWER = 'See [One](https://one.example.com/a).';

/** Runs with an app whose model searches once for each of two questions. */
function twoSearches<Result>(
  run: (app: ToolsApp, seen: ReturnType<typeof searching>['asked']) => Promise<Result>,
): Promise<Result> {
  const { tools, asked } = searching();
  return withTools({ tools }, (app) => {
    app.fake.reply(searches('one'), says(ANSWER), searches('two'), says('Done.'));
    return run(app, asked);
  });
}

describe.each(openaiVersions)('%s', (_, Client) => {
  it('[B-41] builds the search and the citation from their events', () =>
    twoSearches(async ({ url }) => {
      const client = new Client({ baseURL: url, apiKey: 'client-key', maxRetries: 0 });
      // The cast: the request is one that its types allow.
      const body = { model: 'm', input: 'Search.', ...INCLUDING } as OpenAI.Responses.ResponseCreateParams;
      const stream = client.responses.stream(body as Parameters<typeof client.responses.stream>[0]);
      const seen: string[] = [];
      stream.on('event', ({ type }) => seen.push(type));
      const { output } = await stream.finalResponse();
      expect([seen.filter((type) => /web_search|annotation/.test(type)), output]).toMatchObject([
        [
          'response.web_search_call.in_progress',
          'response.web_search_call.searching',
          'response.web_search_call.completed',
          'response.output_text.annotation.added',
        ],
        [
          {
            type: 'web_search_call',
            action: { query: 'one', sources: PAGES.map(({ url }) => ({ type: 'url', url })) },
          },
          { content: [{ annotations: [{ type: 'url_citation', title: 'One', start_index: 4, end_index: 36 }] }] },
        ],
      ]);
    }));
});

describe('@openai/agents', () => {
  it.each([true, false])('[B-41] runs webSearchTool on its terms, and sends its items back; streamed: %s', (stream) =>
    twoSearches(async (app, asked) => {
      const modelProvider = new OpenAIProvider({ apiKey: 'client-key', baseURL: app.url, useResponses: true });
      const runner = new Runner({ modelProvider, tracingDisabled: true });
      const tool = webSearchTool({
        filters: { allowedDomains: ['example.com', 'example.org'] },
        userLocation: { type: 'approximate', city: 'Berlin' },
        searchContextSize: 'high',
      });
      const agent = new Agent({ name: 'a', model: 'm', tools: [tool] });
      const first = await ended(runner, agent, 'Search.', stream);
      const second = await ended(
        runner,
        agent,
        [...first.history, { role: 'user', content: 'Again.' } as const],
        stream,
      );
      expect([first, second].map(({ newItems }) => newItems.map(({ type }: RunItem) => type))).toEqual([
        ['tool_call_item', 'message_output_item'],
        ['tool_call_item', 'message_output_item'],
      ]);
      expect([second.finalOutput, lastSent(app), asked[0]]).toMatchObject([
        'Done.',
        [SENT_RESULTS, SENT_RESULTS],
        { allowedDomains: ['example.com', 'example.org'], userLocation: { city: 'Berlin' }, maxResults: 16 },
      ]);
    }),
  );
});

describe.each(vercelVersions)('%s', (_, create, { generateText, streamText }) => {
  function settingsFor({ url }: ToolsApp) {
    const openai = create({ apiKey: 'client-key', baseURL: url });
    // The cast: with exactOptionalPropertyTypes the SDK's own tool is none of its tools.
    const tools = { web_search: openai.tools.webSearch({}) } as unknown as ai.ToolSet;
    return { model: openai.responses('m'), tools, maxRetries: 0 };
  }

  it('[B-41] generates with openai.tools.webSearch, and again with its own messages', () =>
    twoSearches(async (app) => {
      const messages: ai.ModelMessage[] = [{ role: 'user', content: 'Search.' }];
      const first = await generateText({ ...settingsFor(app), messages });
      messages.push(...first.response.messages, { role: 'user', content: 'Again.' });
      const second = await generateText({ ...settingsFor(app), messages });
      // The newer one counts what was found as well as what is cited.
      expect([first.sources.map((source) => 'url' in source && source.url), second.text, lastSent(app)]).toEqual([
        expect.arrayContaining(['https://one.example.com/a']),
        'Done.',
        [SENT_RESULTS, SENT_RESULTS],
      ]);
    }));

  it('[B-41] streams the search and its sources', () =>
    twoSearches(async (app) => {
      const result = streamText({ ...settingsFor(app), prompt: 'Search.' });
      expect(await partTypes(result.fullStream)).toEqual(
        expect.arrayContaining(['tool-call', 'tool-result', 'text-delta', 'source']),
      );
    }));
});
