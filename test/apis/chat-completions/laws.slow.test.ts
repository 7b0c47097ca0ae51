/** A law over random turns: whatever is written and called, and however it is cut, the client gets all of its own and nothing else. */

import fc from 'fast-check';
import { functionTools } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { type ChatFields, chatChunk, chatCompletion, type FakeAnswer } from '../../../src/testing/index.ts';
import { askChunks, type ChatApp, gathered, QUESTION, startChatApp, streamed, whole } from './chat-app.ts';
import { wired } from './script.ts';

const RUNS = 60;
const SEED = 20_261_120;
const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

/** Something that the model does: a text, or a call whose arguments may be empty. */
type Piece = { readonly text: string } | { readonly owned: boolean; readonly json: string };
type CallPiece = Extract<Piece, { json: string }>;

/** One answer of the model, and how it is cut: the numbers are drawn from wherever a choice is to be made. */
interface Round {
  readonly pieces: readonly Piece[];
  readonly choices: readonly number[];
  readonly cuts: readonly number[];
  /** Whether it is written as JSON to a request that wants JSON. */
  readonly whole: boolean;
}

const text = fc.record({ text: fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }) });
const json = fc.oneof(
  fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 }).map((value) => JSON.stringify(value)),
  fc.constant(''),
);
const ours = fc.record({ owned: fc.constant(true), json });
const theirs = fc.record({ owned: fc.constant(false), json });

function roundOf(pieces: fc.Arbitrary<readonly Piece[]>): fc.Arbitrary<Round> {
  const choices = fc.array(fc.nat(5), { minLength: 8, maxLength: 24 });
  return fc.record({ pieces, choices, cuts: fc.array(fc.integer({ min: 1, max: 2000 })), whole: fc.boolean() });
}

/** A round that the server alone goes on from, and one that is the last. */
const middle = roundOf(
  fc.array(fc.oneof(text, ours), { minLength: 1, maxLength: 5 }).filter((all) => all.some(isOurs)),
);
const last = roundOf(
  fc.array(fc.oneof(text, ours, theirs), { maxLength: 6 }).filter((all) => all.some(isTheirs) || !all.some(isOurs)),
);
const turn = fc.tuple(fc.array(middle, { maxLength: 2 }), last).map(([before, end]) => [...before, end]);

let app: ChatApp;
let ran: unknown[] = [];

beforeAll(async () => {
  // The count of calls is the result: no call repeats another with the same result.
  app = await startChatApp({ tools: functionTools({ ours: { execute: (args: JsonObject) => ran.push(args) } }) });
});
afterAll(() => app.close());

describe('a turn of one to three rounds, in any mixture and at any cut,', () => {
  it('[T-02] [T-04] [P-04] [P-05] [A-28] [A-29] is to each client its whole text and exactly its own calls', async () => {
    const property = fc.asyncProperty(turn, async (rounds) => {
      play(rounds);
      const expected = {
        reported: due(rounds),
        ran: rounds.flatMap(({ pieces }) => pieces.filter(isOurs).map(argumentsOf)),
      };
      for (const answerOf of [streamed, gathered, whole]) {
        ran = [];
        const { content, calls, finish } = await answerOf(app.url);
        // A call without arguments is as the model server wrote it where its chunks could be passed on.
        const filled = calls.map((call) => ({ ...call, arguments: call.arguments || '{}' }));
        expect({ reported: { content, calls: filled, finish }, ran }).toEqual(expected);
      }
    });
    await fc.assert(property, { numRuns: RUNS, seed: SEED });
  });

  it('[S-10] [P-04] has one id, one end and the usage of all its rounds', async () => {
    const property = fc.asyncProperty(turn, async (rounds) => {
      play(rounds);
      const chunks = await askChunks(app.url, { stream_options: { include_usage: true } });
      const finishes = chunks.flatMap(({ choices }) =>
        (choices as readonly JsonObject[]).map((each) => each.finish_reason),
      );
      expect({
        ids: [...new Set(chunks.map(({ id }) => id))],
        finishes: finishes.filter(Boolean),
        usage: chunks.filter(({ usage }) => usage).map(({ usage }) => usage),
      }).toEqual({
        ids: ['round-0'],
        finishes: [due(rounds).finish],
        usage: [Object.fromEntries(Object.entries(USAGE).map(([name, count]) => [name, count * rounds.length]))],
      });
    });
    await fc.assert(property, { numRuns: RUNS, seed: SEED });
  });
});

function isOurs(piece: Piece): piece is CallPiece {
  return 'json' in piece && piece.owned;
}

function isTheirs(piece: Piece): piece is CallPiece {
  return 'json' in piece && !piece.owned;
}

function argumentsOf({ json }: CallPiece): unknown {
  return JSON.parse(json || '{}');
}

/** What the client is due. */
function due(rounds: readonly Round[]) {
  const calls = rounds.flatMap((round, index) => callsOf(round, index));
  const clients = calls
    .filter(({ name }) => name === 'theirs')
    .map((call) => ({ ...call, arguments: call.arguments || '{}' }));
  const content = rounds.flatMap(({ pieces }) => pieces.map((piece) => ('text' in piece ? piece.text : ''))).join('');
  return { content: content || null, calls: clients, finish: clients.length > 0 ? 'tool_calls' : 'stop' };
}

function callsOf({ pieces }: Round, round: number) {
  const calls = pieces.filter((piece) => 'json' in piece);
  return calls.map(({ owned, json }, index) => ({
    id: `call_${round}_${index}`,
    name: owned ? 'ours' : 'theirs',
    arguments: json,
  }));
}

/** The model answers with the round that the request has come to. */
function play(rounds: readonly Round[]): void {
  app.fake.reply(({ body }) => {
    const { messages, stream } = body as { messages: readonly JsonObject[]; stream?: boolean };
    const index = messages.slice(QUESTION.messages.length).filter(({ role }) => role === 'assistant').length;
    const round = rounds[index];
    if (!round) throw new Error(`The turn has no round ${index}.`);
    return !stream && round.whole ? wholeAnswer(round, index) : streamAnswer(round, index);
  });
}

function wholeAnswer(round: Round, index: number): FakeAnswer {
  const { pieces } = round;
  const content = pieces.map((piece) => ('text' in piece ? piece.text : '')).join('') || null;
  const calls = callsOf(round, index).map(wired);
  const message = calls.length > 0 ? { content, tool_calls: calls } : { content };
  return { body: chatCompletion(message, { id: `round-${index}`, usage: USAGE }) };
}

function streamAnswer(round: Round, index: number): FakeAnswer {
  const id = `round-${index}`;
  const deltas = [{ role: 'assistant' }, ...joined(deltasOf(round, index), round.choices)];
  const finish = round.pieces.some((piece) => 'json' in piece) ? 'tool_calls' : 'stop';
  const end = chatChunk({}, { id, finish_reason: finish }) + chatChunk({}, { id, choices: [], usage: USAGE });
  const body = `${deltas.map((delta) => chatChunk(delta, { id })).join('')}${end}data: [DONE]\n\n`;
  return { body, split: round.cuts };
}

/** The deltas of a round: texts in order, calls opened in order, their arguments in pieces between all that follows. */
function deltasOf(round: Round, index: number): readonly ChatFields[] {
  const calls = callsOf(round, index);
  const choose = chooser(round.choices);
  const deltas: ChatFields[] = [];
  const open: ChatFields[][] = [];
  let number = 0;
  for (const piece of round.pieces) {
    // The calls before may go on first.
    while (open.some(goesOn) && choose() > 2) deltas.push(...takeOne(open, choose()));
    if ('text' in piece) deltas.push(...cut(piece.text, choose()).map((content) => ({ content })));
    else open.push(deltasOfCall(calls[number] as ReturnType<typeof callsOf>[number], number++, choose(), deltas));
  }
  while (open.some(goesOn)) deltas.push(...takeOne(open, choose()));
  return deltas;
}

/** Says the first delta of the call, with or without arguments; answers the others. */
function deltasOfCall(call: ReturnType<typeof callsOf>[number], index: number, choice: number, deltas: ChatFields[]) {
  const { id, name, arguments: json } = call;
  const [first = '', ...rest] = choice > 3 ? cut(json, choice) : ['', ...cut(json, choice)];
  deltas.push({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: first } }] });
  return rest.map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] }));
}

function takeOne(open: readonly ChatFields[][], choice: number): readonly ChatFields[] {
  const some = open.filter(goesOn);
  return some[choice % some.length]?.splice(0, 1) ?? [];
}

function goesOn({ length }: readonly ChatFields[]): boolean {
  return length > 0;
}

/** The deltas, some of them two in one. */
function joined(deltas: readonly ChatFields[], choices: readonly number[]): readonly ChatFields[] {
  const choose = chooser(choices.toReversed());
  const all: ChatFields[] = [];
  for (const delta of deltas) {
    const before = all.at(-1);
    if (before && choose() === 0 && mayJoin(before, delta)) all.splice(-1, 1, join(before, delta));
    else all.push(delta);
  }
  return all;
}

/** A text belongs before the calls of its delta, and a call into it once. */
function mayJoin(before: ChatFields, delta: ChatFields): boolean {
  const numbers = [...callsIn(before), ...callsIn(delta)].map(({ index }) => index);
  return !('content' in delta) && new Set(numbers).size === numbers.length;
}

function join(before: ChatFields, delta: ChatFields): ChatFields {
  return { ...before, tool_calls: [...callsIn(before), ...callsIn(delta)] };
}

function callsIn({ tool_calls: calls = [] }: ChatFields): readonly JsonObject[] {
  return calls as readonly JsonObject[];
}

/** The text in as many pieces as there are choices, or fewer. */
function cut(text: string, pieces: number): readonly string[] {
  const size = Math.max(1, Math.ceil(text.length / Math.max(1, pieces)));
  const starts = Array.from({ length: Math.ceil(text.length / size) }, (_, index) => index * size);
  return starts.map((start) => text.slice(start, start + size));
}

/** One choice after the other, over and over. */
function chooser(choices: readonly number[]): () => number {
  let next = 0;
  return () => choices[next++ % choices.length] ?? 0;
}
