/** What providers say in ways of their own, through a real app: as recorded where there is a recording, else as they document it. */
import { z } from 'zod';
import { chatCompletionsUpstream, functionTool, functionTools } from '../../../src/index.ts';
import type { FakeAnswer } from '../../../src/testing/index.ts';
import { parsed } from '../../http/client.ts';
import { startApp } from '../../support/app.ts';
import {
  becameOf,
  chunkStream,
  completion,
  deltaChunk,
  jsonBody,
  type ProviderApp,
  startProviderApp,
} from '../../support/provider-app.ts';
import { eventStream, recordedJson, recordedStream } from '../../support/replay.ts';
import { askForStream, post } from '../../support/responses-client.ts';
import { describeShared, listShared } from '../../support/shared.ts';
import type { WireItem, WireResponse } from '../../support/wire-schemas.ts';

let app: ProviderApp;

beforeAll(async () => {
  app = await startProviderApp();
});
afterAll(() => app.close());

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const STOP = { finish_reason: 'stop' };

/** The text of the response and its annotations. */
function citedIn({ output }: WireResponse) {
  return output.flatMap((item) => {
    if (item.type !== 'message') return [];
    return item.content.flatMap((part) => (part.type === 'output_text' ? [[part.text, part.annotations]] : []));
  });
}

/** A source at the end of a text that is so long. */
const atEnd = (length: number, url: string, title = '') => ({
  type: 'url_citation',
  url,
  title,
  start_index: length,
  end_index: length,
});

function codesOf(notes: readonly { readonly code: string }[]) {
  return notes.map(({ code }) => code);
}

const ignored = (notes: readonly { readonly code: string; readonly message: string }[]) =>
  notes.filter(({ code }) => code === 'upstream_fields_ignored').map(({ message }) => message);

describeShared('recorded sources', () => {
  const streams = listShared('corpus/chat-stream', '.sse').filter((name) => name.startsWith('v03'));
  const answers = listShared('corpus/chat-json', '.json').filter((name) => name.startsWith('v03'));

  /** Each url that the recording names on top, once, in its order, with the title that is known of it. */
  function namedIn(text: string): ReadonlyMap<string, string> {
    const named = new Map<string, string>();
    const data = text.startsWith('{') ? [text] : text.split(/\r?\n/).filter((line) => line.startsWith('data:'));
    const chunks = data.map((line) => line.replace(/^data:/, '').trim()).filter((line) => line.startsWith('{'));
    for (const chunk of chunks.map(parsed)) {
      for (const url of (chunk.citations ?? []) as readonly string[]) named.set(url, named.get(url) ?? '');
      for (const { url, title } of (chunk.search_results ?? []) as readonly { url: string; title: string }[])
        named.set(url, named.get(url) || title);
    }
    return named;
  }

  it.each([...streams, ...answers])('[V-03] stand at the end of the text, each once, however cut: %s', async (file) => {
    const isStream = file.endsWith('.sse');
    const name = file.replace(/\.(sse|json)$/, '');
    const answer = isStream ? recordedStream(name) : recordedJson(name);
    const { response } =
      isStream && String(answer.body).length > 30_000 ? await app.of(answer) : await becameOf(app, answer);
    const [[text, annotations] = []] = citedIn(response) as [string, unknown][];
    const named = namedIn(String(answer.body));
    expect(named.size).toBeGreaterThan(0);
    expect(annotations).toEqual([...named].map(([url, title]) => atEnd(text?.length ?? -1, url, title)));
  });
});

describe('sources', () => {
  it('[V-03] that xAI names in its last chunk stand at the end (written after its documentation)', async () => {
    const chunks = [
      deltaChunk({ role: 'assistant', content: 'It ' }),
      deltaChunk({ content: 'rains.' }),
      deltaChunk({}, { citations: ['https://a.example/1', 'https://b.example/2', 'https://a.example/1'] }, STOP),
    ];
    const { response } = await becameOf(app, chunkStream(...chunks));
    expect(citedIn(response)).toEqual([
      ['It rains.', [atEnd(9, 'https://a.example/1'), atEnd(9, 'https://b.example/2')]],
    ]);
  });

  it('[V-03] with a place stay there, and are not repeated at the end', async () => {
    const placed = { url: 'https://a.example', title: 'A', start_index: 0, end_index: 2 };
    const annotations = [
      { type: 'url_citation', url_citation: placed },
      { type: 'url_citation', url_citation: { url: 'https://c.example', title: 'C' } },
    ];
    const citations = ['https://a.example', 'https://b.example'];
    const { response } = await becameOf(
      app,
      jsonBody(completion({ content: 'Yes.', annotations }, { citations }, STOP)),
    );
    expect(citedIn(response)).toEqual([
      [
        'Yes.',
        [{ type: 'url_citation', ...placed }, atEnd(4, 'https://b.example'), atEnd(4, 'https://c.example', 'C')],
      ],
    ]);
  });

  it("[V-03] [V-18] OpenRouter's files are cited by their hash, and their text is noted as left out", async () => {
    const file = { hash: 'abc123', name: 'report.pdf', content: [{ type: 'text', text: '<file>…</file>' }] };
    const message = { content: 'Sum.', annotations: [{ type: 'file', file }] };
    const { response, notes } = await becameOf(app, jsonBody(completion(message, {}, STOP)));
    expect(citedIn(response)).toEqual([
      ['Sum.', [{ type: 'file_citation', file_id: 'abc123', filename: 'report.pdf', index: 4 }]],
    ]);
    expect(ignored(notes)).toEqual([expect.stringContaining('message.annotations[].file.content')]);
  });

  it('[V-03] of files come as OpenAI has them', async () => {
    const annotations = [
      { type: 'file_citation', file_id: 'file-1', filename: 'a.txt', index: 2 },
      {
        type: 'container_file_citation',
        container_id: 'cntr_1',
        file_id: 'cfile_1',
        filename: 'b.png',
        start_index: 0,
        end_index: 3,
      },
    ];
    const { response } = await becameOf(app, chunkStream(deltaChunk({ content: 'See.', annotations }, {}, STOP)));
    expect(citedIn(response)).toEqual([['See.', annotations]]);
  });

  it('[V-03] stand before a call that follows the text, and are noted where no text came', async () => {
    const citations = ['https://a.example'];
    const call = { index: 0, id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } };
    const first = deltaChunk({ content: 'Hm.' }, { citations });
    const called = deltaChunk({ tool_calls: [call] }, { citations }, { finish_reason: 'tool_calls' });
    const reported = await becameOf(app, chunkStream(first, called));
    const silent = await becameOf(app, chunkStream(called));
    expect([
      reported.response.output.map(({ type }) => type),
      citedIn(reported.response),
      ignored(reported.notes),
      silent.response.output.map(({ type }) => type),
      ignored(silent.notes),
    ]).toEqual([
      ['message', 'function_call'],
      [['Hm.', [atEnd(3, 'https://a.example')]]],
      [],
      ['function_call'],
      [expect.stringMatching(/: citations\.$/)],
    ]);
  });

  it('[V-03] are bounded: of a hundred thousand no more than a thousand and twenty-four are reported', async () => {
    const citations = Array.from({ length: 100_000 }, (_, index) => `https://a.example/${index}`);
    const { response, notes } = await app.of(jsonBody(completion({ content: 'a' }, { citations }, STOP)));
    const [[, annotations] = []] = citedIn(response) as [string, readonly unknown[]][];
    expect([annotations?.length, ignored(notes)]).toEqual([1024, [expect.stringContaining('citations')]]);
  });
});

describe('a finish reason', () => {
  const ended = (reason: string) =>
    chunkStream(deltaChunk({ content: 'So' }), deltaChunk({}, {}, { finish_reason: reason }));

  it.each([
    ['content_filter: PROHIBITED_CONTENT', 'content_filter'],
    ['content_filter', 'content_filter'],
    ['SAFETY', 'content_filter'],
    ['sensitive', 'content_filter'],
    ['recitation', 'content_filter'],
    ['RECITATION', 'content_filter'],
    ['length', 'max_output_tokens'],
    ['MAX_TOKENS', 'max_output_tokens'],
    ['model_length', 'max_output_tokens'],
  ])('[V-04] %s leaves the response incomplete', async (reason, why) => {
    const { response, notes } = await becameOf(app, ended(reason));
    expect([response.status, response.incomplete_details, codesOf(notes)]).toEqual(['incomplete', { reason: why }, []]);
  });

  it.each([
    ['error', 'upstream_error'],
    ['insufficient_system_resource', 'upstream_unavailable'],
    ['abort', 'upstream_truncated'],
    ['network_error', 'upstream_truncated'],
    ['function_call_filter: MALFORMED_FUNCTION_CALL', 'upstream_error'],
  ])('[V-04] %s fails the response, with the output before', async (reason, code) => {
    const { response } = await becameOf(app, ended(reason));
    expect([response.status, response.error?.reason, citedIn(response)]).toEqual(['failed', code, [['So', []]]]);
  });

  it.each(['stop', 'STOP', 'eos', 'eos_token', 'end_turn', 'tool_calls', 'stop_sequence'])(
    '[V-04] %s completes the response without a word to the host',
    async (reason) => {
      const { response, notes } = await becameOf(app, ended(reason));
      expect([response.status, notes]).toEqual(['completed', []]);
    },
  );

  it('[V-04] nobody knows completes the response, and the host is informed of its name, cut short', async () => {
    const { response, notes } = await becameOf(app, ended(`tired\n${'x'.repeat(1000)}`));
    expect([
      response.status,
      notes.map(({ code, message }) => [code, message.length < 200, message.includes('\n')]),
    ]).toEqual(['completed', [['finish_reason_unknown', true, false]]]);
    expect(notes[0]?.message).toContain("'tired?xxx");
  });
});

describeShared('a recorded finish reason', () => {
  it.each(listShared('corpus/chat-json', '.json').filter((name) => name.startsWith('v04')))(
    '[V-04] of another server completes the response: %s',
    async (file) => {
      const { response, notes } = await becameOf(app, recordedJson(file.replace('.json', '')));
      expect([response.status, codesOf(notes).includes('finish_reason_unknown')]).toEqual(['completed', false]);
    },
  );
});

describe('a picture', () => {
  const part = (url: string) => ({ type: 'image_url', image_url: { url } });
  const images = [part(`data:image/png;base64,${PNG}`)];
  const shown = { type: 'image_generation_call', status: 'completed', result: PNG, output_format: 'png' };
  const streamed = chunkStream(
    deltaChunk({ role: 'assistant', content: 'Here.' }),
    deltaChunk({ content: '', images }, {}, STOP),
  );

  it.each<readonly [string, FakeAnswer]>([
    ['of a delta', streamed],
    ['of a message', jsonBody(completion({ content: 'Here.', images }, {}, STOP))],
    ['of a content part', jsonBody(completion({ content: [{ type: 'text', text: 'Here.' }, ...images] }, {}, STOP))],
  ])('[V-07] %s is an item of its own (written after OpenRouter and LiteLLM)', async (_, answer) => {
    const { response, notes } = await becameOf(app, answer);
    expect([response.output.map(({ id: _, ...item }) => item), response.status, notes]).toEqual([
      [expect.objectContaining({ type: 'message' }), shown],
      'completed',
      [],
    ]);
  });

  it('[V-07] is streamed as OpenAI streams it', async () => {
    app.fake.reply(streamed);
    const { events } = await askForStream(app.app.url);
    const types = events.map(({ type }) => type).filter((type) => /image|output_item/.test(type));
    expect(types).toEqual([
      'response.output_item.added',
      'response.output_item.done',
      'response.output_item.added',
      'response.image_generation_call.in_progress',
      'response.image_generation_call.generating',
      'response.image_generation_call.completed',
      'response.output_item.done',
    ]);
  });

  it('[V-07] goes back to the model as an image, in its place, by id and by full history', async () => {
    const { response } = await app.of(streamed);
    const next = jsonBody(completion({ content: 'A dot.' }, {}, STOP));
    const before = app.fake.requests.length;
    await app.requested(next, { previous_response_id: response.id, input: 'What is it?' });
    await app.requested(next, {
      input: [{ role: 'user', content: 'Go.' }, ...response.output, { role: 'user', content: 'What is it?' }],
    });
    const bodies = app.fake.requests.slice(before).map(({ body }) => (body as { messages: unknown }).messages);
    const expected = [
      { role: 'user', content: 'Go.' },
      { role: 'assistant', content: 'Here.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: '[The assistant made this image:]' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
        ],
      },
      { role: 'user', content: 'What is it?' },
    ];
    expect(bodies).toEqual([expected, expected]);
  });

  it('[V-07] at an address of the web is cited, since only its bytes can be an item', async () => {
    const { response } = await becameOf(
      app,
      jsonBody(completion({ images: [part('https://cdn.example/a.png')] }, {}, STOP)),
    );
    expect(citedIn(response)).toEqual([['', [atEnd(0, 'https://cdn.example/a.png', 'Image')]]]);
  });

  it.each(['', 'javascript:alert(1)', 'data:text/html;base64,AA==', 'data:image/png,raw', '/etc/passwd'])(
    '[V-07] that is none (%p) fails an answer of nothing else, and is noted',
    async (url) => {
      const { status } = await app.requested(jsonBody(completion({ images: [part(url)] }, {}, STOP)));
      expect([status, app.errors.map(({ code }) => code), ignored(app.notes)]).toEqual([
        502,
        ['upstream_error'],
        [expect.stringContaining('message.images')],
      ]);
    },
  );

  it('[V-07] of 3 MiB fits into an event, and counts as output', async () => {
    const large = { images: [part(`data:image/jpeg;base64,/9j/${'A'.repeat(3 * 2 ** 20)}`)] };
    const huge = { images: [part(`data:image/jpeg;base64,/9j/${'A'.repeat(11 * 2 ** 20)}`)] };
    const { response } = await app.of(chunkStream(deltaChunk(large, {}, STOP)));
    const [item] = response.output as readonly Extract<WireItem, { type: 'image_generation_call' }>[];
    const failed = await app.of(chunkStream(deltaChunk(huge, {}, STOP)));
    expect([response.status, item?.output_format, item?.result?.length, failed.response.error?.reason]).toEqual([
      'completed',
      'jpeg',
      3 * 2 ** 20 + 4,
      'output_too_large',
    ]);
  });
});

describe('audio', () => {
  const audio = { id: 'audio_1', data: 'UklGRg==', expires_at: 1, transcript: 'Good day.' };

  it.each<readonly [string, FakeAnswer]>([
    ['of a message', jsonBody(completion({ audio }, {}, STOP))],
    [
      'of deltas',
      chunkStream(
        deltaChunk({ role: 'assistant', audio: { id: 'audio_1', transcript: 'Good ' } }),
        deltaChunk({ audio: { transcript: 'day.' } }),
        deltaChunk({ audio: { data: 'UklGRg==' } }),
        deltaChunk({ audio: { expires_at: 1 } }, {}, STOP),
      ),
    ],
  ])(
    "[V-07] %s is read by its transcript, and its data is noted (written after OpenAI's documentation)",
    async (_, answer) => {
      const { response, notes } = await becameOf(app, answer);
      expect([citedIn(response), ignored(notes)]).toEqual([
        [['Good day.', []]],
        [expect.stringContaining('message.audio.data')],
      ]);
    },
  );

  it('[V-07] is not repeated where the text came, and fails an answer of nothing else', async () => {
    const { response } = await becameOf(app, jsonBody(completion({ content: 'Hello.', audio }, {}, STOP)));
    const { status } = await app.requested(jsonBody(completion({ audio: { ...audio, transcript: '' } }, {}, STOP)));
    expect([citedIn(response), status, app.errors[0]?.code]).toEqual([[['Hello.', []]], 502, 'upstream_error']);
  });
});

describeShared('a recorded empty custom call', () => {
  const NAME = 'v09-snowflake-custom-myorg-myaccount.snowflakecomputing.com-39ea0a95';

  it('[V-09] leaves the filled function its arguments, in the body and in a stream made of it', async () => {
    const recorded = parsed(String(recordedJson(NAME).body)) as { choices: { message: object }[] };
    const [{ message } = { message: {} }] = recorded.choices;
    const whole = await becameOf(app, recordedJson(NAME));
    const { tool_calls: calls } = message as { tool_calls: object[] };
    const delta = { ...message, tool_calls: calls.map((call, index) => ({ index, ...call })) };
    const streamed = await becameOf(app, chunkStream(deltaChunk(delta, {}, { finish_reason: 'tool_calls' })));
    for (const { response } of [whole, streamed])
      expect(response.output).toEqual([
        expect.objectContaining({ type: 'function_call', name: 'get_weather', arguments: '{"city":"Mexico City"}' }),
      ]);
  });
});

describeShared('recorded content that is an object', () => {
  it.each(listShared('corpus/chat-json', '.json').filter((name) => name.startsWith('v10')))(
    '[V-10] is its JSON as the text, in the body and in a stream made of it: %s',
    async (file) => {
      const answer = recordedJson(file.replace('.json', ''));
      const { choices } = parsed(String(answer.body)) as { choices: { message: { content: object } }[] };
      const content = choices[0]?.message.content ?? {};
      const whole = await becameOf(app, answer);
      const streamed = await becameOf(app, chunkStream(deltaChunk({ role: 'assistant', content }, {}, STOP)));
      expect([citedIn(whole.response), citedIn(streamed.response)]).toEqual([
        [[JSON.stringify(content), []]],
        [[JSON.stringify(content), []]],
      ]);
    },
  );
});

describe('an answer that is none of Chat Completions', () => {
  const html = { body: '<html><body>Welcome to nginx</body></html>', headers: { 'content-type': 'text/html' } };
  const foreign: readonly (readonly [string, FakeAnswer, string])[] = [
    ['another object', jsonBody({ foo: 1 }), '{"foo":1}'],
    ['an empty body', jsonBody(''), 'nothing'],
    ['a list', jsonBody([{ foo: 1 }]), '[{"foo":1}]'],
    ['no JSON', jsonBody('Welcome'), 'Welcome'],
    ['a page', html, '<html><body>Welcome to nginx'],
    ['a stream of other objects', chunkStream({ foo: 1 }, { foo: 2 }), '{"foo":1}'],
    ['a stream of nothing but its end', eventStream('data: [DONE]\n\n'), 'nothing'],
    ['a stream that is JSON', eventStream('{"foo":1}'), '{"foo":1}'],
  ];

  it.each(foreign)(
    '[V-11] (%s) is a 502 that reports it, and only the host learns what came',
    async (_, answer, came) => {
      const { status, text } = await app.requested(answer);
      const streamed = await app.requested(answer, { stream: true });
      const [error] = app.errors;
      expect([status, streamed.status, parsed(text).error, error?.code, error?.server]).toEqual([
        502,
        502,
        expect.objectContaining({ code: 'upstream_error' }),
        'upstream_error',
        new URL(app.fake.baseURL).host,
      ]);
      expect(String(error?.cause)).toContain(came);
      expect(`${text}${streamed.text}`).not.toMatch(/foo|Welcome/);
    },
  );

  it('[V-11] shows the host no more than 200 characters of it, none of them of a secret that was cut', async () => {
    // The key begins before the cut and ends behind it.
    const key = 'sk-test-1234567890abcdef';
    const { text } = await app.requested(jsonBody({ a: 'x'.repeat(180), key, b: 'y'.repeat(10_000) }));
    const cause = String(app.errors[0]?.cause);
    expect([cause.includes('sk-test'), cause.includes('1234'), cause.length < 400, text.includes('xxx')]).toEqual([
      false,
      false,
      true,
      false,
    ]);
  });

  it("[V-11] asks for the missing '/v1' where the URL has no path, and not where it has one", async () => {
    await app.requested(jsonBody({ foo: 1 }));
    const withPath = String(app.errors[0]?.cause);
    const bare = await startProviderApp({}, '/');
    await bare.requested(jsonBody({ foo: 1 }));
    const byJson = String(bare.errors[0]?.cause);
    await bare.requested(html);
    const byPage = String(bare.errors[0]?.cause);
    await bare.close();
    expect([withPath, byJson, byPage].map((text) => text.includes("'/v1'"))).toEqual([false, true, true]);
  });

  it("[V-11] is not one with usage alone, an empty first chunk or Azure's filter results in it", async () => {
    const filtered = { id: '', choices: [], prompt_filter_results: [{ prompt_index: 0 }] };
    const usage = { choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } };
    const { response } = await becameOf(app, chunkStream(filtered, deltaChunk({ content: 'a' }, {}, STOP), usage));
    expect([response.status, citedIn(response)]).toEqual(['completed', [['a', []]]]);
  });
});

describe('a delta of another role', () => {
  it('[V-12] is left out of the text, and noted once (written after MiniMax)', async () => {
    const searched = { role: 'tool', content: '[{"url":"https://a.example"}]' };
    const chunks = [
      deltaChunk({ role: 'assistant', content: 'It ' }),
      deltaChunk(searched),
      deltaChunk(searched),
      deltaChunk({ role: '', content: 'rains' }),
      deltaChunk({ role: 'assistant', content: '.' }, {}, STOP),
    ];
    const { response, notes } = await becameOf(app, chunkStream(...chunks));
    expect([citedIn(response), notes.map(({ message }) => message)]).toEqual([
      [['It rains.', []]],
      [expect.stringContaining("'tool'")],
    ]);
  });

  it('[V-12] is left out where many look alike, too', async () => {
    const chunks = Array.from({ length: 20 }, (_, index) => deltaChunk({ role: 'tool', content: `found ${index}` }));
    const { response } = await becameOf(app, chunkStream(...chunks, deltaChunk({ content: 'Done.' }, {}, STOP)));
    expect(citedIn(response)).toEqual([['Done.', []]]);
  });
});

describe('events with one newline between them', () => {
  const chunks = [deltaChunk({ role: 'assistant', content: 'It ' }), deltaChunk({ content: 'rains.' }, {}, STOP)];
  const lines = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n`).join('');

  it.each([
    ['and the end', `${lines}data: [DONE]\n`],
    ['without an end', lines],
    ['and carriage returns', `${lines}data: [DONE]\n`.replaceAll('\n', '\r\n')],
  ])('[V-13] %s are read as events', async (_, text) => {
    const { response } = await becameOf(app, eventStream(text));
    expect([response.status, citedIn(response)]).toEqual(['completed', [['It rains.', []]]]);
  });

  it('[V-13] are not made of one event on several lines', async () => {
    const pretty = JSON.stringify(deltaChunk({ content: 'a' }, {}, STOP), null, 1).replaceAll('\n', '\ndata: ');
    const { response } = await becameOf(app, eventStream(`data: ${pretty}\n\ndata: [DONE]\n\n`));
    expect(citedIn(response)).toEqual([['a', []]]);
  });
});

describe('a safety identifier', () => {
  it('[V-16] may have 128 characters, as at OpenAI', async () => {
    const longer = await post(app.app.url, { safety_identifier: 'x'.repeat(129) });
    const answer = jsonBody(completion({ content: 'a' }, {}, STOP));
    const long = await app.requested(answer, { safety_identifier: 'x'.repeat(128) });
    const sent = app.fake.requests.at(-1)?.body;
    expect([longer.status, long.status]).toEqual([400, 200]);
    expect(sent).toMatchObject({ safety_identifier: 'x'.repeat(128) });
  });
});

describe('fields that nobody reads', () => {
  it('[V-18] are noted by name, once for a response, and no more than twenty of them', async () => {
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`field_${index}`, index + 1]));
    const chunks = [
      deltaChunk(
        { content: 'a', reading: { deep: 'x' }, nothing: null, blank: { a: '', b: [] } },
        { ['evil\nname'.repeat(20)]: 1 },
      ),
      deltaChunk({ content: 'b', reading: { deep: 'x' } }, {}, { native: 'x' }),
      deltaChunk({ content: 'c' }, many, STOP),
    ];
    const { notes } = await becameOf(app, chunkStream(...chunks));
    const [message = ''] = ignored(notes);
    expect([notes.length, message.match(/field_/g)?.length, message.includes('\n'), message.length < 2000]).toEqual([
      1,
      17,
      false,
      true,
    ]);
    expect(message).toContain('message.reading, choices[].native');
  });

  it('[V-18] are not noted where every chunk is usual', async () => {
    const usual = deltaChunk({ role: 'assistant', content: 'a' }, { created: 1, model: 'm' }, STOP);
    expect((await becameOf(app, chunkStream(usual))).notes).toEqual([]);
  });

  it('[V-18] are noted once where a response takes several calls of the model', async () => {
    const notes: string[] = [];
    const tools = functionTools({ look: functionTool({ parameters: z.object({}), execute: () => 'Seen.' }) });
    const upstream = chatCompletionsUpstream({ baseURL: app.fake.baseURL, retries: 0 });
    const hooks = { onNote: ({ code }: { readonly code: string }) => void notes.push(code) };
    const other = await startApp({ options: { upstream, tools, hooks } });
    const call = { index: 0, id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } };
    app.fake.reply(chunkStream(deltaChunk({ tool_calls: [call] }, { strange: 1 }, { finish_reason: 'tool_calls' })));
    app.fake.reply(chunkStream(deltaChunk({ content: 'Done.' }, { strange: 1 }, STOP)));
    const { response } = await askForStream(other.url);
    await Promise.all([other.close(), upstream.close?.()]);
    expect([response.status, notes]).toEqual(['completed', ['upstream_fields_ignored']]);
  });
});
