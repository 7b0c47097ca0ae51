/** Every recorded stream that calls tools, some or all of which are the server's own: those run, and no client sees them. */

import { functionTools, type ToolProvider } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { type FakeAnswer, textStream } from '../../../src/testing/index.ts';
import { readChatStream, type Segment } from '../../support/naive-chat.ts';
import { recordedStream } from '../../support/replay.ts';
import { describeShared, listShared } from '../../support/shared.ts';
import { askChunks, type ChatApp, QUESTION, requestedOf, startChatApp, streamed, whole } from './chat-app.ts';

type Called = Extract<Segment, { call: unknown }>['call'];

interface Recording {
  readonly name: string;
  /** The first that the completion is given. */
  readonly id: string | undefined;
  readonly calls: readonly Called[];
  /** What is called, each name once, in order. */
  readonly names: readonly string[];
  readonly text: string;
  readonly answer: FakeAnswer;
}

const RECORDINGS = listShared('corpus/chat-stream', '.sse').map(read).filter(callsTools);
const OWN_ID = /^call_[\da-f]{32}$/;

describeShared('a recorded stream that calls tools', () => {
  let app: ChatApp;
  let tools: ToolProvider;
  let ran: { name: string; args: JsonObject }[];

  beforeAll(async () => {
    app = await startChatApp({ tools: () => [tools] });
  });
  afterAll(() => app.close());

  /** The server owns these names, and the model server answers so. */
  function play(owned: readonly string[], ...answers: readonly FakeAnswer[]): void {
    ran = [];
    const note = (name: string) => (args: JsonObject) => {
      ran.push({ name, args });
      return `The result of ${name}.`;
    };
    tools = functionTools(Object.fromEntries(owned.map((name) => [name, { execute: note(name) }])));
    app.fake.reply(...answers);
  }

  describe.each(RECORDINGS)('of the server, as in $name', ({ id, calls, names, text, answer }) => {
    beforeEach(() => play(names, answer, { body: textStream('Done.') }));

    it('[P-05] [T-02] [A-28] runs them and goes on with their results, in two model calls', async () => {
      const before = app.fake.requests.length;
      const reported = await streamed(app.url);
      expect({
        reported,
        ran,
        requested: requestedOf(app).messages,
        modelCalls: app.fake.requests.length - before,
      }).toEqual({
        reported: { content: `${text}Done.`, calls: [], finish: 'stop' },
        ran: calls.filter(hasArguments).map(asRun),
        requested: [...QUESTION.messages, ...roundOf(calls, text)],
        modelCalls: 2,
      });
    });

    it('[P-04] [S-19] is one completion, which ends once and names no tool', async () => {
      const chunks = await askChunks(app.url);
      const written = JSON.stringify(chunks);
      expect(written.match(/"finish_reason":"\w+"/g)).toEqual(['"finish_reason":"stop"']);
      expect(chunks.at(-1)?.id).toBe(id ?? 'chatcmpl-fake');
      expect(written).not.toMatch(/"tool_calls":\[\{/);
    });

    it('[P-05] [A-27] says the same to a client that wants JSON', async () => {
      expect(await whole(app.url)).toEqual({ content: `${text}Done.`, calls: [], finish: 'stop' });
    });
  });

  const several = RECORDINGS.filter(({ names }) => names.length > 1);
  describe.each(several)('of the server and of the client, as in $name', ({ calls, names, text, answer }) => {
    it.each([
      ['the first', names.slice(0, 1)],
      ['all but the first', names.slice(1)],
    ])('[A-29] [T-04] [P-05] hands out the whole calls of the client where the server owns %s', async (_, owned) => {
      play(owned, answer);
      const clients = calls.filter(({ name }) => !owned.includes(name));
      const reported = { content: text || null, calls: clients.map(asReported), finish: 'tool_calls' };
      expect({ reported: await streamed(app.url), ran }).toEqual({
        reported,
        ran: calls.filter(isOneOf(owned)).map(asRun),
      });
      play(owned, answer);
      expect(await whole(app.url)).toEqual(reported);
    });
  });
});

function asRun({ name, arguments: json }: Called) {
  return { name, args: JSON.parse(json) };
}

function asReported({ id, ...called }: Called) {
  return { id: id === '' ? expect.stringMatching(OWN_ID) : id, ...called };
}

function isOneOf(names: readonly string[]) {
  return ({ name }: Called) => names.includes(name);
}

/** The messages that the model must see after the calls. */
function roundOf(calls: readonly Called[], text: string): readonly unknown[] {
  const wired = calls.map(asReported).map(({ id, ...called }) => ({ id, type: 'function', function: called }));
  const results = calls.map((call) => ({
    role: 'tool',
    tool_call_id: asReported(call).id,
    content: hasArguments(call) ? `The result of ${call.name}.` : expect.stringContaining('not a JSON object'),
  }));
  return [expect.objectContaining({ role: 'assistant', content: text || null, tool_calls: wired }), ...results];
}

function hasArguments({ arguments: json }: Called): boolean {
  return json.trimStart().startsWith('{');
}

function read(file: string): Recording {
  const name = file.replace('.sse', '');
  const answer = recordedStream(name);
  const { segments } = readChatStream(String(answer.body));
  const calls = segments.flatMap((segment) => ('call' in segment ? [segment.call] : []));
  const names = [...new Set(calls.map(({ name }) => name))];
  return { name, id: idIn(String(answer.body)), calls, names, text: textIn(String(answer.body)), answer };
}

function idIn(recording: string): string | undefined {
  const data = recording.split(/\r?\n/).filter((line) => line.startsWith('data: {'));
  return data.map((line) => JSON.parse(line.slice('data: '.length)).id).find(Boolean);
}

/** The text with its thoughts in it, which a chat client gets as they are. */
function textIn(recording: string): string {
  const pieces = recording.match(/"content": ?"(?:[^"\\]|\\.)*"/g) ?? [];
  return pieces.map((piece) => JSON.parse(`{${piece}}`).content).join('');
}

/** Whole answers of one choice each. */
function callsTools({ calls, answer }: Recording): boolean {
  const text = String(answer.body);
  const odd = /"index": ?1,"delta"|"error": ?\{|"finish_reason": ?"length"/.test(text);
  return calls.length > 0 && !odd && /"finish_reason": ?"/.test(text);
}
