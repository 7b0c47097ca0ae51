/** What model servers report besides their answers, where the Responses API has a place for it. */
import { chatChunk, chatStream } from '../../src/testing/index.ts';
import { eventsOf, finalOf, type RequestApp, requestAppPerTest } from '../support/request-app.ts';

let app: RequestApp;
requestAppPerTest((started) => {
  app = started;
});

const QUERY = { index: 0, type: 'search', arguments: '{"query":"fog"}' };
const PAGE = { title: 'Fog', url: 'https://a.b/fog', content: 'Grey.', score: 0.9 };

it('[V-42] shows the searches of Groq’s own tools, and notes its other tools', async () => {
  app.upstream.reply({
    body: chatStream(
      { executed_tools: [QUERY] },
      { executed_tools: [{ ...QUERY, output: 'Fog', search_results: { results: [PAGE] } }] },
      { executed_tools: [{ index: 1, type: 'visit', arguments: '{"url":"https://a.b"}', output: 'Grey.' }] },
      { content: 'Fog is grey.' },
      { executed_tools: [{ index: 2, type: 'python', arguments: '{"code":"1"}', output: '1' }] },
    ),
  });
  const text = await app.streamed({ input: 'Go.' });
  const search = { type: 'web_search_call', status: 'completed' };
  expect(finalOf(text).output).toEqual([
    {
      id: expect.any(String),
      ...search,
      action: { type: 'search', query: 'fog', queries: ['fog'], sources: [{ type: 'url', url: PAGE.url }] },
    },
    { id: expect.any(String), ...search, action: { type: 'open_page', url: 'https://a.b' } },
    expect.objectContaining({ type: 'message' }),
  ]);
  expect(app.notes.map(({ code, message }) => [code, message])).toEqual([
    ['upstream_fields_ignored', 'The model server sent fields that nothing here reads: message.executed_tools.'],
  ]);
});

const SAFE = { hate: { filtered: false, severity: 'safe' } };

it('[V-42] shows what Azure’s filters found', async () => {
  const results = { ...SAFE, violence: { filtered: true, severity: 'high' } };
  const jailbreak = { jailbreak: { filtered: false, detected: true } };
  const prompt_filter_results = [{ prompt_index: 0, content_filter_results: jailbreak }];
  app.upstream.reply({
    body: [
      chatChunk({}, { id: '', choices: [], prompt_filter_results }),
      chatChunk({ content: 'So' }),
      chatChunk(
        {},
        { choices: [{ index: 0, delta: {}, finish_reason: 'content_filter', content_filter_results: results }] },
      ),
      'data: [DONE]\n\n',
    ].join(''),
  });
  const text = await app.streamed({ input: 'Go.' });
  expect(finalOf(text)).toMatchObject({
    status: 'incomplete',
    content_filters: [
      { blocked: false, source_type: 'prompt', content_filter_results: jailbreak },
      { blocked: true, source_type: 'completion', content_filter_results: results },
    ],
  });
  expect(app.notes).toEqual([]);
});

it('[V-42] says nothing of filters that found nothing', async () => {
  const prompt_filter_results = [{ prompt_index: 0, content_filter_results: SAFE }];
  app.upstream.reply({ body: chatChunk({}, { choices: [], prompt_filter_results }) + chatStream({ content: 'Hi.' }) });
  const text = await app.streamed({ input: 'Go.' });
  expect([finalOf(text).content_filters, app.notes, eventsOf(text).length > 3]).toEqual([undefined, [], true]);
});
