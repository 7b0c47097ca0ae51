/** The phase of a message through `responsesUpstream`: shown, kept, sent back; and messages stay apart. */

import fc from 'fast-check';
import { chatCompletionsUpstream, type Upstream } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { type FakeUpstream, startFakeUpstream, textStream } from '../../src/testing/index.ts';
import { responsesUpstream } from '../../src/upstreams/responses/responses-upstream.ts';
import { askJson, send } from '../http/client.ts';
import { type App, startApp } from '../support/app.ts';
import { eventStream } from '../support/replay.ts';
import { askForStream } from '../support/responses-client.ts';
import { describeShared, listShared, readShared } from '../support/shared.ts';
import { item, responsesEvent, responsesStream, textItem } from './responses-bytes.ts';

const TWO_PHASES = 'corpus/responses-stream/openai-phase-1-1.sse';

let fake: FakeUpstream;
let app: App;

async function start(make: (options: { baseURL: string; retries: number }) => Upstream = responsesUpstream) {
  fake = await startFakeUpstream();
  app = await startApp({ options: { upstream: make({ baseURL: fake.baseURL, retries: 0 }) } });
}

beforeEach(() => start());
afterEach(() => Promise.all([app.close(), fake.close()]));

const listOf = (value: unknown) => (Array.isArray(value) ? value : []) as readonly JsonObject[];

/** The phase and the words of each message. */
function messagesIn(items: unknown): readonly (readonly [phase: unknown, text: string])[] {
  const messages = listOf(items).filter(({ type, role }) => type === 'message' && role === 'assistant');
  return messages.map(({ phase, content }) => [phase ?? undefined, wordsOf(content)]);
}

function wordsOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return listOf(content)
    .map(({ text }) => text)
    .join('');
}

/** The messages of a recorded stream as their ends have them: in some of the recordings the deltas are cut. */
function recordedMessages(text: string) {
  const data = text.split('\n').filter((line) => line.startsWith('data:'));
  const events = data.map((line) => JSON.parse(line.slice(5)) as JsonObject);
  const done = events.filter(({ type }) => type === 'response.output_item.done');
  return messagesIn(done.map(({ item }) => item));
}

/** What the model server is sent as input. */
const sentInput = () => sentBody().input;
const sentBody = () => (fake.requests.at(-1)?.body ?? {}) as JsonObject;

/** A message in one delta. */
function written(index: number, text: string, more: JsonObject = {}): string {
  const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }];
  const whole = { id: `msg_${index}`, type: 'message', role: 'assistant', status: 'completed', content, ...more };
  return item(index, whole, { content: [] }, { type: 'response.output_text.delta', content_index: 0, delta: text });
}

const LOOKING = written(0, 'Let me look.', { phase: 'commentary' });
const DONE = written(1, 'Done.', { phase: 'final_answer' });
const BOTH = responsesStream([LOOKING, DONE]);
const EXPECTED = [
  ['commentary', 'Let me look.'],
  ['final_answer', 'Done.'],
];

describeShared('a recorded answer with phases', () => {
  const streams = listShared('corpus/responses-stream', '.sse')
    .map((file) => [file, readShared(`corpus/responses-stream/${file}`)] as const)
    .filter(([, text]) => text.includes('"phase":"'));
  const answers = listShared('corpus/responses-json', '.json')
    .filter((file) => file.startsWith('v05-') || file.startsWith('copilot'))
    .map((file) => [file, readShared(`corpus/responses-json/${file}`)] as const)
    .filter(([, text]) => /"phase": ?"/.test(text));

  it('[V-05] is one of many', () => expect([streams.length > 2, answers.length > 10]).toEqual([true, true]));

  it.each(streams)('[V-05] shows each message with its phase: %s', async (_, text) => {
    fake.reply(eventStream(text));
    const { response } = await askForStream(app.url);
    expect(messagesIn(response.output)).toEqual(recordedMessages(text));
  });

  it.each(answers)('[V-05] shows each message of a JSON answer with its phase: %s', async (_, text) => {
    fake.reply({ body: text, headers: { 'content-type': 'application/json' } });
    const { output } = await askJson(app.url);
    expect(messagesIn(output)).toEqual(messagesIn((JSON.parse(text) as JsonObject).output));
  });

  it('[V-05] [P-08] means the same byte by byte', async () => {
    const text = readShared(TWO_PHASES);
    fake.reply({ ...eventStream(text), split: 'byte' });
    const { response } = await askForStream(app.url);
    expect(messagesIn(response.output)).toEqual(recordedMessages(text));
  }, 60_000);

  it('[V-05] [P-08] means the same in any pieces', async () => {
    const text = readShared(TWO_PHASES);
    const expected = recordedMessages(text);
    const cuts = fc.uniqueArray(fc.integer({ min: 1, max: Buffer.byteLength(text) - 1 }), { maxLength: 16 });
    await fc.assert(
      fc.asyncProperty(cuts, async (offsets) => {
        fake.reply({ ...eventStream(text), split: offsets.toSorted((one, other) => one - other) });
        expect(messagesIn((await askForStream(app.url)).response.output)).toEqual(expected);
      }),
      { numRuns: 10 },
    );
  });

  it('[V-05] gives the phases back in the next turn, in a conversation that is stored and in one that is not', async () => {
    const text = readShared(TWO_PHASES);
    const expected = recordedMessages(text);
    fake.reply(eventStream(text), { body: responsesStream([textItem(0, 'Yes.')]) });
    const { id, output } = await askJson(app.url);
    const { body } = await send(`${app.url}/responses/${id}`);
    await askJson(app.url, { previous_response_id: id, input: 'Sure?' });
    const continued = sentInput();
    await askJson(app.url, { store: false, input: [{ role: 'user', content: 'Hi' }, ...listOf(output)] });
    expect([messagesIn(body.output), messagesIn(continued), messagesIn(sentInput())]).toEqual([
      expected,
      expected,
      expected,
    ]);
  });
});

// Written as OpenAI's server writes it in the recordings above.
describe('a message with a phase', () => {
  it('[V-05] [P-02] is announced with it', async () => {
    fake.reply(eventStream(BOTH));
    const { events, response } = await askForStream(app.url);
    const added = events.filter(
      ({ type }) => type === 'response.output_item.added',
    ) as unknown as readonly JsonObject[];
    expect(added.map((event) => (event.item as JsonObject).phase)).toEqual(['commentary', 'final_answer']);
    expect(messagesIn(response.output)).toEqual(EXPECTED);
  });

  it('[V-05] stays apart from its neighbour where neither has a phase', async () => {
    fake.reply(eventStream(responsesStream([written(0, 'Let me look.'), written(1, 'Done.', { phase: null })])));
    const { response } = await askForStream(app.url);
    expect(messagesIn(response.output)).toEqual([
      [undefined, 'Let me look.'],
      [undefined, 'Done.'],
    ]);
    expect(JSON.stringify(response)).not.toContain('phase');
  });

  it('[V-05] is no item where it has no content', async () => {
    const empty = { id: 'msg_0', type: 'message', role: 'assistant', content: [], phase: 'commentary' };
    fake.reply(eventStream(responsesStream([item(0, empty, {}), written(1, 'Done.', { phase: 'final_answer' })])));
    expect(messagesIn((await askForStream(app.url)).response.output)).toEqual([['final_answer', 'Done.']]);
  });

  it('[V-05] keeps a phase that comes only when the message is whole and nothing of it was shown', async () => {
    const content = [{ type: 'output_text', text: 'Done.' }];
    const whole = { id: 'msg_0', type: 'message', role: 'assistant', content, phase: 'final_answer' };
    fake.reply(
      eventStream(
        responsesStream([responsesEvent({ type: 'response.output_item.done', output_index: 0, item: whole })]),
      ),
    );
    expect(messagesIn((await askForStream(app.url)).response.output)).toEqual([['final_answer', 'Done.']]);
  });

  it('[V-05] reaches the model as a client wrote it, on the words of the assistant alone', async () => {
    fake.reply({ body: BOTH });
    await askJson(app.url, {
      input: [
        { role: 'user', content: 'Hi', phase: 'commentary' },
        { role: 'assistant', content: 'Looking.', phase: 'commentary' },
        { role: 'assistant', content: 'Done.', phase: 7 },
        { role: 'user', content: 'And?' },
      ],
    });
    expect(listOf(sentInput()).map(({ role, phase }) => [role, phase])).toEqual([
      ['user', undefined],
      ['assistant', 'commentary'],
      ['assistant', undefined],
      ['user', undefined],
    ]);
  });

  it('[V-05] says its words to an upstream that knows no phases, and nothing else', async () => {
    fake.reply({ body: BOTH });
    const { output } = await askJson(app.url);
    await Promise.all([app.close(), fake.close()]);
    await start(chatCompletionsUpstream);
    fake.reply({ body: textStream('Yes.') });
    await askJson(app.url, { input: [{ role: 'user', content: 'Hi' }, ...listOf(output)] });
    const { messages } = sentBody();
    expect(messages).toEqual([
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Let me look.' },
      { role: 'assistant', content: 'Done.' },
    ]);
  });
});
