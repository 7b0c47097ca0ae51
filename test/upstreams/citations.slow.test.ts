/** Where an answer of another Responses server, or of Anthropic, says it is from: as recorded, and written after their documentation. */

import type { Note } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { responsesUpstream } from '../../src/upstreams/responses/responses-upstream.ts';
import { parsed } from '../http/client.ts';
import { type App, startApp } from '../support/app.ts';
import { eventStream } from '../support/replay.ts';
import { askForJson, askForStream } from '../support/responses-client.ts';
import { describeShared, listShared, readShared } from '../support/shared.ts';
import type { WireResponse } from '../support/wire-schemas.ts';
import { type MessagesApp, startMessagesApp, streamOf } from './messages-app.ts';
import { block, messagesStream, textBlock } from './messages-bytes.ts';

const notes: Note[] = [];
const hooks = { onNote: (note: Note) => void notes.push(note) };
let fake: FakeUpstream;
let app: App;
let claude: MessagesApp;

beforeAll(async () => {
  fake = await startFakeUpstream();
  app = await startApp({ options: { upstream: responsesUpstream({ baseURL: fake.baseURL, retries: 0 }), hooks } });
  claude = await startMessagesApp({}, { hooks });
});
afterAll(() => Promise.all([app.close(), fake.close(), claude.close()]));
beforeEach(() => {
  notes.length = 0;
});

const listOf = (value: unknown) => (Array.isArray(value) ? value : []) as readonly JsonObject[];

/** All annotations of the messages, in order. */
function citedIn({ output }: { readonly output?: unknown }): readonly unknown[] {
  return listOf(output)
    .filter(({ type }) => type === 'message')
    .flatMap(({ content }) => listOf(content).flatMap(({ annotations }) => listOf(annotations)));
}

function picturesIn({ output }: { readonly output?: unknown }): readonly unknown[] {
  return listOf(output)
    .filter(({ type }) => type === 'image_generation_call')
    .map(({ result, output_format, background, quality, size, revised_prompt }) => [
      result,
      { output_format, background, quality, size, revised_prompt },
    ]);
}

/** The whole response in the recording: the answer itself, or what its last event holds. */
function recordedIn(text: string): JsonObject {
  if (text.startsWith('{')) return parsed(text);
  const data = text.split(/\r?\n/).filter((line) => line.startsWith('data: {'));
  const events = data.map((line) => parsed(line.slice(5)));
  const done = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
  return { output: done };
}

/** What the app makes of it, streamed and as JSON, and byte by byte where it is short. */
async function became(text: string): Promise<WireResponse> {
  const answer = text.startsWith('{')
    ? { body: text, headers: { 'content-type': 'application/json' } }
    : eventStream(text);
  fake.reply(text.length < 30_000 ? { ...answer, split: 'byte' } : answer);
  const { response } = await askForStream(app.url);
  fake.reply(answer);
  const whole = await askForJson(app.url);
  expect(citedIn(whole)).toEqual(citedIn(response));
  return response;
}

describeShared('a recorded answer of a Responses server', () => {
  const files = ['responses-stream', 'responses-json'].flatMap((folder) =>
    listShared(`corpus/${folder}`, '')
      .filter((name) => !name.endsWith('.request.json'))
      .map((name) => `corpus/${folder}/${name}`),
  );
  const cited = files.filter((file) => /\/v03-/.test(file));
  const pictured = files.filter((file) => /image-generation/.test(file));

  it.each(cited)('[V-03] keeps its annotations of files: %s', async (file) => {
    const text = readShared(file);
    const expected = citedIn(recordedIn(text));
    expect(expected.length).toBeGreaterThan(0);
    expect(citedIn(await became(text))).toEqual(expected);
  });

  it.each(pictured)('[V-07] keeps its pictures: %s', async (file) => {
    const text = readShared(file);
    const expected = picturesIn(recordedIn(text));
    expect(expected.length).toBeGreaterThan(0);
    expect(picturesIn(await became(text))).toEqual(expected);
  });
});

/** The input of the newest request. */
function sentInput({ requests }: FakeUpstream): unknown {
  return (requests.at(-1)?.body as JsonObject | undefined)?.input;
}

describe('a picture of another Responses server', () => {
  it('[V-07] goes back to it as it came', async () => {
    const picture = { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'UklGRg==' };
    const written = { type: 'message', role: 'assistant', id: 'm', content: [{ type: 'output_text', text: 'Yes.' }] };
    const answer = (...output: readonly object[]) => ({
      body: JSON.stringify({ object: 'response', status: 'completed', output }),
      headers: { 'content-type': 'application/json' },
    });
    const asked = (text: string) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });
    fake.reply(answer(picture));
    const { id } = await askForJson(app.url);
    fake.reply(answer(written));
    await askForJson(app.url, { previous_response_id: id, input: 'Is it nice?' });
    expect(sentInput(fake)).toEqual([asked('Go.'), picture, asked('Is it nice?')]);
  });
});

describe('a picture in a conversation with Anthropic', () => {
  it('[V-07] is an image of the user there', async () => {
    const picture = { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: '/9j/AA==' };
    claude.fake.reply(streamOf(messagesStream([textBlock(0, 'Yes.')])));
    await askForJson(claude.url, { input: [{ role: 'user', content: 'Draw.' }, picture] });
    const [{ content } = {}] = listOf((claude.fake.requests.at(-1)?.body as JsonObject | undefined)?.messages);
    expect(listOf(content).at(-1)).toEqual({
      type: 'image',
      source: { type: 'base64', media_type: 'image/jpeg', data: '/9j/AA==' },
    });
  });
});

describe("Anthropic's citations", () => {
  const citing = (citation: JsonObject) =>
    streamOf(
      messagesStream([
        block(
          0,
          { type: 'text', text: '' },
          { type: 'text_delta', text: 'Grass is green.' },
          { type: 'citations_delta', citation },
        ),
      ]),
    );

  it('[V-03] of a file with an id are file_citations behind the cited text (written after its documentation)', async () => {
    claude.fake.reply(
      citing({ type: 'char_location', file_id: 'file_1', document_title: 'a.txt', cited_text: 'green' }),
    );
    const { response } = await askForStream(claude.url);
    expect([citedIn(response), notes]).toEqual([
      [{ type: 'file_citation', file_id: 'file_1', filename: 'a.txt', index: 15 }],
      [],
    ]);
  });

  it('[V-03] of a document that the request brought are noted', async () => {
    claude.fake.reply(citing({ type: 'char_location', document_index: 0, document_title: 'a.txt', file_id: null }));
    const { response } = await askForStream(claude.url);
    expect([citedIn(response), notes.map(({ code, message }) => [code, message.includes("'char_location'")])]).toEqual([
      [],
      [['upstream_fields_ignored', true]],
    ]);
  });
});
