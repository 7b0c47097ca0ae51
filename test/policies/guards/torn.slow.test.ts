/** Ten thousand answers whose secrets are torn anywhere: none is shown or stored, and nothing else is changed. */
import fc from 'fast-check';
import { openResponses } from '../../../src/core.ts';
import { type ChatBatch, type ModelEvent, memoryStore, type ResponseStore, type Upstream } from '../../../src/index.ts';
import { pii } from '../../../src/policies/guards/index.ts';
import type { Reply } from '../../../src/protocol/reply.ts';
import { inPieces, shownOf } from './support.ts';

const SECRETS = [
  'bob.smith+x@mail.example.com',
  'DE89 3704 0044 0532 0130 00',
  'GB29NWBK60161331926819',
  '4111 1111 1111 1111',
  '378282246310005',
  '+49 30 901820',
  '(212) 555-0123',
  'sk-proj-abcDEF123456ghiJKL789',
  'AKIAIOSFODNN7EXAMPLE',
];
const guard = pii();
const piece = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...SECRETS) },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      ' ',
      ', ',
      '.\n',
      'Call ',
      'the number ',
      '12:30 ',
      '"x" ',
      'ünï ',
      '🎉',
      '3.14 ',
      '[EMAIL] ',
    ),
  },
  fc.string({ maxLength: 6 }),
);
/** What looks like JSON, and is none, may keep its punctuation in a stream: `json.test.ts` has JSON. */
const answers = fc.record({
  text: fc.array(piece, { minLength: 1, maxLength: 7 }).map((pieces) => pieces.join('').replaceAll(/[[{]/g, '(')),
  sizes: fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 9 }),
  kind: fc.constantFrom('text', 'refusal', 'reasoning', 'arguments'),
});

type Kind = 'text' | 'refusal' | 'reasoning' | 'arguments';

/** A model that answers with these pieces. */
function modelOf(kind: Kind, pieces: readonly string[]): Upstream {
  const deltaOf = (text: string, at: number): ModelEvent => {
    if (kind !== 'arguments') return { type: `${kind}-delta`, text };
    return { type: 'tool-call-delta', call: 0, ...(at === 0 ? { id: 'call_1', name: 'send' } : {}), arguments: text };
  };
  const chunkOf = (text: string): string => {
    const field = { text: 'content', refusal: 'refusal', reasoning: 'reasoning_content', arguments: '' }[kind];
    const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'send', arguments: text } };
    const delta = kind === 'arguments' ? { tool_calls: [call] } : { [field]: text };
    return JSON.stringify({ id: 'x', choices: [{ index: 0, delta, finish_reason: null }] });
  };
  return {
    name: 'model',
    async *stream() {
      for (const [at, text] of pieces.entries()) yield [deltaOf(text, at)];
      yield [{ type: 'finish', reason: 'stop' }];
    },
    async *chat(): AsyncGenerator<ChatBatch> {
      for (const text of pieces) yield { whole: false, data: [chunkOf(text)] };
      const end = JSON.stringify({ id: 'x', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
      yield { whole: false, data: [end, '[DONE]'] };
    },
  };
}

async function textOf({ status, body }: Reply): Promise<string> {
  if (status !== 200) throw new Error(`Got ${status}: ${String(body)}`);
  let text = '';
  for await (const each of typeof body === 'string' ? [body] : body) text += each;
  return text;
}

const REQUEST = { method: 'POST', headers: { 'content-type': 'application/json' } };
const tools = [{ type: 'function', name: 'send', parameters: {} }];

async function asked(upstream: Upstream, put: ResponseStore['put']) {
  const options = { upstream, guards: { output: [guard] }, store: { ...memoryStore(), put } };
  const { signal } = new AbortController();
  const body = { model: 'm', input: 'Go.', messages: [{ role: 'user', content: 'Go.' }], stream: true };
  const responses = openResponses(options).handle({
    ...REQUEST,
    path: '/responses',
    signal,
    body: { ...body, messages: undefined, tools },
  });
  const chat = openResponses(options).handle({
    ...REQUEST,
    path: '/chat/completions',
    signal,
    body: { ...body, input: undefined },
  });
  if (!responses || !chat) throw new Error('There is no such path.');
  return { responses: await textOf(await responses), chat: await textOf(await chat) };
}

function eventsIn(text: string): readonly Readonly<Record<string, unknown>>[] {
  const data = text.split('\n').filter((line) => line.startsWith('data: {'));
  return data.map((line) => JSON.parse(line.slice(6)));
}

/** All deltas of the Responses stream, and all of the chat's. */
function shownIn({ responses, chat }: Awaited<ReturnType<typeof asked>>) {
  const events = eventsIn(responses);
  const deltas = events.filter(({ type }) => String(type).endsWith('.delta')).map(({ delta }) => delta);
  const chunks = eventsIn(chat).flatMap(({ choices }) => choices as { delta: Readonly<Record<string, never>> }[]);
  const contents = chunks.map(({ delta }) => {
    const {
      content = '',
      refusal = '',
      reasoning_content: thought = '',
      tool_calls: calls,
    } = delta as Record<string, unknown>;
    const [call] = (calls ?? []) as { function: { arguments: string } }[];
    return `${content}${refusal}${thought}${call?.function.arguments ?? ''}`;
  });
  return { responses: deltas.join(''), chat: contents.join(''), last: JSON.stringify(events.at(-1)) };
}

async function expectGuarded(kind: Kind, text: string, pieces: readonly string[]): Promise<void> {
  const stored: unknown[] = [];
  const shown = shownIn(await asked(modelOf(kind, pieces), (response) => void stored.push(response)));
  const expected = await shownOf(guard, text);
  const [chat, responses] =
    kind === 'arguments'
      ? [JSON.parse(shown.chat).note, JSON.parse(shown.responses).note]
      : [shown.chat, shown.responses];
  expect([chat, responses]).toEqual([expected, expected]);
  const spelled = JSON.stringify(kind === 'arguments' ? shown.responses : expected);
  expect([JSON.stringify(stored).includes(spelled), shown.last.includes(spelled)]).toEqual([true, true]);
}

function written(kind: Kind, text: string): string {
  return kind === 'arguments' ? JSON.stringify({ note: text }) : text;
}

describe('guards of both routers', () => {
  it('show of 10,000 answers what a redaction of the whole shows', async () => {
    await fc.assert(
      fc.asyncProperty(answers, async ({ text, sizes, kind }) => {
        const whole = text.trim() === '' ? 'x' : text;
        await expectGuarded(kind as Kind, whole, inPieces(written(kind as Kind, whole), sizes));
      }),
      { numRuns: 10_000 },
    );
  });

  it.each(SECRETS)('find %j wherever it is torn in two or three', async (secret) => {
    const text = `Take ${secret}, please.`;
    for (let one = 1; one < text.length; one += 1)
      for (let other = one; other < text.length; other += 3)
        await expectGuarded('text', text, [text.slice(0, one), text.slice(one, other), text.slice(other)]);
  });
});
