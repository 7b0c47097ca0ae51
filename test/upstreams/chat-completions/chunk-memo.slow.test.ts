/** The fast path for chunks that differ in little: whatever it reads is what parsing gives. */

import fc from 'fast-check';
import { newCompletion } from '../../../src/apis/chat-completions/answer/completion.ts';
import { ChatEncoder } from '../../../src/apis/chat-completions/answer/encoder.ts';
import { ModelAnswer } from '../../../src/apis/chat-completions/answer/model-answer.ts';
import { step } from '../../../src/engine/turn/machine/machine.ts';
import { startState } from '../../../src/engine/turn/machine/state.ts';
import { ChatDecoder } from '../../../src/protocol/chat-completions/decoder.ts';
import { ChunkMemo } from '../../../src/protocol/chat-completions/fast-path/chunk-memo.ts';
import type { ModelEvent } from '../../../src/protocol/events.ts';
import { wholeText } from '../../../src/protocol/grown-text.ts';
import type { LogProb } from '../../../src/protocol/items.ts';
import { logProbsIn } from '../../../src/protocol/json/log-probs.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { TIGHT } from '../../apis/chat-completions/answer-frames.ts';
import { DEFAULT_PLAN } from '../../engine/turn/whole-turn.ts';
import { describeShared, listShared, readShared } from '../../support/shared.ts';

/** What the memo reads of the chunks in turn; it learns from those that it leaves to the parser. */
function readAll(memo: ChunkMemo, chunks: readonly string[]) {
  return chunks.map((data) => {
    const written = memo.read(data);
    if (written === undefined) memo.learn(data, JSON.parse(data));
    return written?.text;
  });
}

function chunk(delta: JsonObject, more: JsonObject = {}, choice: JsonObject = {}): JsonObject {
  return {
    id: 'c',
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: null, ...choice }],
    ...more,
  };
}

const written = (content: string, more?: JsonObject, choice?: JsonObject) =>
  JSON.stringify(chunk({ content }, more, choice));
/** The log probabilities of so many tokens, as OpenAI writes them. */
const probable = (...tokens: readonly string[]) => ({
  logprobs: { content: tokens.map((token) => logProb(token, [token])), refusal: null },
});
const called = (text: string, entry: JsonObject = {}) =>
  JSON.stringify(chunk({ tool_calls: [{ index: 1, function: { arguments: text }, ...entry }] }));

function logProb(token: string, alternatives: readonly string[] = []): LogProb {
  const top = { token, logprob: -token.length / 8, bytes: [...Buffer.from(token)] };
  return { ...top, top_logprobs: alternatives.map((each) => ({ ...top, token: each })) };
}

/** Four chunks made so, of which the memo can have learnt before the third. */
const four = (make: (word: string) => string) => readAll(new ChunkMemo(), ['a', 'bb', 'ccc', 'd "e"'].map(make));
const NONE = [undefined, undefined, undefined, undefined];
const LEARNT = [undefined, undefined, 'ccc', 'd "e"'];

describe('chunkMemo', () => {
  it('[Q-03] [P-08] reads what has come twice, from the third chunk on, escapes and all', () => {
    const words = ['a', 'b', 'c', 'd "e"', 'f\\', '\n', '', '😀', '\u2028', 'é'];
    expect(
      readAll(
        new ChunkMemo(),
        words.map((word) => written(word)),
      ),
    ).toEqual([undefined, undefined, ...words.slice(2)]);
  });

  it('[Q-03] reads the arguments of a call, and whose they are', () => {
    const memo = new ChunkMemo();
    readAll(memo, [called('{'), called('"a"')]);
    expect(memo.read(called(':1}'))).toEqual({ text: ':1}', call: 1, logprobs: '' });
  });

  it('[Q-03] reads past a string of changing length that nobody reads', () => {
    expect(four((word) => written(word, { obfuscation: 'x'.repeat(word.length % 4) }))).toEqual(LEARNT);
  });

  it.each([{}, { obfuscation: 'x' }])(
    '[Q-03] [S-09] reads log probabilities as they are written, beside %j',
    (more) => {
      const tokens = ['a', 'b"', '\\', '}],"refusal":null}', '', '😀'];
      const memo = new ChunkMemo();
      const read = tokens.map((token) => {
        const data = written(token, more, probable(token, 'next'));
        const found = memo.read(data);
        if (!found) memo.learn(data, JSON.parse(data));
        return found;
      });
      const later = tokens.slice(2).map((text) => {
        const { logprobs } = probable(text, 'next');
        return { text, call: undefined, logprobs: JSON.stringify(logprobs.content).slice(1, -1) };
      });
      expect(read).toEqual([undefined, undefined, ...later]);
    },
  );

  it.each<[string, unknown]>([
    ['no bytes', [{ ...logProb('a'), bytes: null }]],
    ['an infinite number', 'INFINITE'],
    ['fields in another order', [{ logprob: -1, token: 'a', bytes: [97], top_logprobs: [] }]],
    ['a field more', [{ id: 1, ...logProb('a') }]],
    ['no entry', []],
    ['one that is none', [logProb('a'), null]],
    ['no list', 'x'],
  ])('leaves log probabilities with %s to the parser', (_, content) => {
    const memo = new ChunkMemo();
    const of = (content: unknown) => written('a', {}, { logprobs: { content, refusal: null } });
    const usual = of([logProb('a')]);
    readAll(memo, [usual, usual]);
    const infinite = usual.replace('-0.125', '-1e999');
    expect([memo.read(usual)?.text, memo.read(content === 'INFINITE' ? infinite : of(content))]).toEqual([
      'a',
      undefined,
    ]);
  });

  it('leaves log probabilities to the parser that come twice, or by another name', () => {
    const of = (token: string) => written('a', {}, probable(token));
    const twice = (token: string) => of(token).replace('"logprobs":', '"logprobs":{"content":[1]},"logprobs":');
    const first = (token: string) =>
      of('a').replace('"logprobs":', `"logprobs":${JSON.stringify(probable(token).logprobs)},$&`);
    const [plain, doubled] = [new ChunkMemo(), new ChunkMemo()];
    readAll(plain, [of('a'), of('b')]);
    readAll(doubled, [first('a'), first('a')]);
    const renamed = of('c').replace('"logprobs":', '"logProbs":');
    expect([plain.read(of('c'))?.text, plain.read(renamed), plain.read(twice('c')), doubled.read(first('b'))]).toEqual([
      'a',
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('leaves log probabilities of more than 64 KiB to the parser', () => {
    const memo = new ChunkMemo();
    const of = (token: string) => written('a', {}, probable(token));
    readAll(memo, [of('a'), of('b')]);
    expect([memo.read(of('c'))?.text, memo.read(of('x'.repeat(70_000)))]).toEqual(['a', undefined]);
  });

  it.each<[string, JsonObject]>([
    ['a finish', chunk({ content: 'x' }, {}, { finish_reason: 'stop' })],
    [
      'a call and log probabilities',
      chunk({ tool_calls: [{ index: 0, function: { arguments: '{' } }] }, {}, probable('x')),
    ],
    ['text and a call', chunk({ content: 'x', tool_calls: [{ index: 0, function: { arguments: '{' } }] })],
    ['a call without a number', chunk({ tool_calls: [{ function: { arguments: 'x' } }] })],
    ['a name', chunk({ tool_calls: [{ index: 0, function: { name: 'f', arguments: 'x' } }] })],
    ['an id', chunk({ tool_calls: [{ index: 0, id: 'f', function: { arguments: 'x' } }] })],
    ['two calls', chunk({ tool_calls: [0, 1].map((index) => ({ index, function: { arguments: 'x' } })) })],
    ['reasoning', chunk({ content: 'x', reasoning_content: 'y' })],
    ['usage', chunk({ content: 'x' }, { usage: { prompt_tokens: 1 } })],
    ['an error', chunk({ content: 'x' }, { error: { message: 'no' } })],
    ['a second choice', { choices: [{ delta: { content: 'x' } }, { delta: { content: 'y' } }] }],
    ['a message', chunk({ content: 'x' }, {}, { message: { content: 'y' } })],
    ['parts', { choices: [{ delta: { content: [{ text: 'x' }] } }] }],
  ])('leaves chunks with %s to the parser, however often they come', (_, odd) => {
    expect(four(() => JSON.stringify(odd))).toEqual(NONE);
  });

  it.each<[string, (word: string) => string]>([
    ['a field that says what kind of chunk it is', (word) => written(word, { type: word })],
    ['the name of a field', (word) => written(word, { [word]: null })],
    ['a number', (word) => written(word, { n: word.length, p: 'x' })],
    ['two strings', (word) => written(word, { p: word, q: word })],
    ['a string in the choice', (word) => written(word, {}, { p: word })],
    ['a field that comes twice', (word) => written(word, { p: word, q: 'p' }).replace('"q":', '"p":')],
  ])('leaves chunks to the parser that differ in %s', (_, make) => {
    expect(four(make)).toEqual(NONE);
  });

  it.each(['"', '\\"', '\\', '\n', '","error":{"message":"no"},"q":"'])(
    'leaves padding with %j to the parser',
    (odd) => {
      const memo = new ChunkMemo();
      readAll(memo, [written('a', { p: 'x' }), written('a', { p: 'xx' })]);
      expect(memo.read(written('a', { p: 'MARK' }).replace('MARK', odd))).toBeUndefined();
    },
  );

  it('leaves a chunk to the parser whose text ends early', () => {
    const memo = new ChunkMemo();
    readAll(memo, [written('a'), written('b')]);
    const forged = written('MARK').replace('MARK', 'x","reasoning":"y');
    const torn = written('MARK').replace('"MARK"', '"');
    expect([memo.read(forged), memo.read(torn)]).toEqual([undefined, undefined]);
  });

  it.each(['same', 'x', 't', 'p'])(
    'is not taken in by a key of the same name elsewhere, nor by the text %j',
    (text) => {
      const odd = JSON.stringify({ meta: { content: 'same' }, ...chunk({ content: text }) });
      expect(four(() => odd)).toEqual(NONE);
    },
  );

  it('makes no more guesses where many were wrong', () => {
    const memo = new ChunkMemo();
    const odd = JSON.stringify({ meta: { content: 'same' }, ...chunk({ content: 'a' }) });
    readAll(memo, Array(10).fill(odd));
    expect(readAll(memo, Array(4).fill(written('a')))).toEqual(NONE);
  });
});

/** A chunk that says a word, with another one in a field about it. */
type Make = (word: string, other: string) => JsonObject;

const odd = fc.string({ unit: fc.constantFrom('a', ' ', '"', '\\', '\n', 'é', '😀', '\ud800', '}', '\u0000') });
const plain = fc.string({ unit: fc.constantFrom('a', 'x'), maxLength: 3 });
const make = fc.constantFrom<Make>(
  (content) => chunk({ content }),
  (content) => chunk({ content, role: 'assistant' }, { usage: null }, { logprobs: null }),
  (content, p) => chunk({ content }, { obfuscation: p }),
  (content, p) => ({ p, ...chunk({ content }) }),
  (content, p) => chunk({ content }, { p, q: p }),
  (content, p) => chunk({ content }, { [p]: p, type: p }),
  (content, p) => chunk({ content }, { p: { error: p } }, { p }),
  (content, p) => chunk({ content, reasoning_content: p }),
  (content, p) => chunk({ content }, {}, { finish_reason: p }),
  (content, p) => chunk({ content }, {}, probable(p)),
  (content, p) => chunk({ content }, { obfuscation: content }, probable(p, content)),
  (content, p) => chunk({ content }, {}, { logprobs: { content: [{ ...logProb(p), bytes: null }] } }),
  (content, p) => chunk({ content }, { meta: probable(p) }, probable(p)),
  (content, p) => chunk({ content: p, reasoning: null }, {}, { ...probable(content), finish_reason: null }),
  (text, p) => ({ meta: { content: p, arguments: p }, ...chunk({ content: text }) }),
  (text) => chunk({ content: text }, {}, { index: 1 }),
  (text) => chunk({ tool_calls: [{ index: 0, function: { arguments: text } }] }),
  (text, p) => chunk({ tool_calls: [{ index: 0, function: { arguments: text } }] }, { obfuscation: p }),
  (text, p) => chunk({ tool_calls: [{ index: p.length, function: { arguments: text } }] }),
  (text, name) => chunk({ tool_calls: [{ index: 0, id: name, function: { name, arguments: text } }] }),
  (text, name) => chunk({ tool_calls: [{ index: 1, id: text, function: { name, arguments: '' } }] }),
);
const write = fc.constantFrom<(data: string) => string>(
  (data) => data,
  (data) => data.replaceAll('":', '": '),
  (data) => data.replace(/[^\0-\x7f]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`),
);
const word = fc.oneof(plain, odd);
const other = fc.oneof({ weight: 3, arbitrary: plain }, odd);
const role = JSON.stringify(chunk({ role: 'assistant', content: '' }));

/** Streams of a few kinds of chunks, one kind mostly after itself. */
const streams = fc
  .record({
    first: fc.constantFrom([], [role]),
    kinds: fc.array(make, { minLength: 1, maxLength: 3 }),
    write,
    written: fc.array(fc.tuple(fc.constantFrom(0, 0, 0, 0, 1, 2), word, other), { maxLength: 16 }),
  })
  .map(({ first, kinds, write, written }) => [
    ...first,
    ...written.map(([kind, word, other]) => write(JSON.stringify((kinds[kind] ?? kinds[0])?.(word, other)))),
  ]);

/** The events of each chunk, and the error that ended it. */
function received<Received>(
  chunks: readonly string[],
  receive: (data: string) => Received,
): readonly (Received | string)[] {
  const all: (Received | string)[] = [];
  try {
    for (const data of chunks) all.push(receive(data));
  } catch (error) {
    all.push(String(error));
  }
  return all;
}

const NEVER: Pick<ChunkMemo, 'read' | 'learn'> = { read: () => undefined, learn: () => undefined };

/** What the decoder says of each chunk, and how many of them the memo has read. */
function decoded(chunks: readonly string[], memo: Pick<ChunkMemo, 'read' | 'learn'>) {
  const decoder = new ChatDecoder();
  let read = 0;
  const written = received(chunks, (data) => {
    const events: ModelEvent[] = [];
    const found = memo.read(data);
    if (found) decoder.takePlainDelta(found, events);
    else if (decoder.take(JSON.parse(data), events)) memo.learn(data, JSON.parse(data));
    if (found) read += 1;
    return events.map(parsed);
  });
  return { written, read };
}

/** Log probabilities read, since a character can be written in several ways. */
function parsed(event: ModelEvent): ModelEvent {
  if (event.type !== 'text-delta' || typeof event.logprobs !== 'string') return event;
  return { ...event, logprobs: logProbsIn(event.logprobs) };
}

/** What an answer sends its client for each chunk, and what is known of it in the end. */
function passed(chunks: readonly string[], offersTools: boolean, memo: Pick<ChunkMemo, 'read' | 'learn'>) {
  const completion = newCompletion({ wantsUsage: false, isLegacy: false });
  const rules = { holdsCalls: offersTools, keepsFields: offersTools, limits: TIGHT };
  const answer = new ModelAnswer(completion, rules, memo);
  const encoder = new ChatEncoder(completion);
  const owners = new Map(offersTools ? [['a', { server: 's', name: 'a' }]] : []);
  let state = startState({ ...DEFAULT_PLAN, owners });
  const reported = received(chunks, (data) => {
    const events: ModelEvent[] = [];
    answer.takeData(data, events);
    const [next, turnEvents] = step(state, events);
    state = next;
    return encoder.frames(turnEvents);
  });
  const { calls, fields, usage, finishReason } = answer;
  const text = wholeText(answer.text);
  // The memo does not read roles: one that was said only in chunks that it has read is said again in a chunk of our own.
  const { hasRole: _, ...kept } = completion;
  const known = JSON.stringify({ completion: kept, calls, text, fields: fields.all(), usage, finishReason });
  // Calls without an id of their own are given a random one.
  return { reported: reported.map(withoutSeeds), known: withoutSeeds(known) };
}

function withoutSeeds(text: string): string {
  return text.replaceAll(/call_\w{32}/g, 'call_');
}

describe('what the memo reads', () => {
  it('[Q-03] is for the decoder what parsing gives, on any stream', () => {
    let read = 0;
    fc.assert(
      fc.property(streams, (chunks) => {
        const found = decoded(chunks, new ChunkMemo());
        read += found.read;
        expect(found.written).toEqual(decoded(chunks, NEVER).written);
      }),
      { numRuns: 2000 },
    );
    expect(read).toBeGreaterThan(1000);
  });

  it('[Q-03] [A-29] is for a client of Chat Completions what parsing gives, with tools of ours and without', () => {
    fc.assert(
      fc.property(streams, fc.boolean(), (chunks, offersTools) => {
        expect(passed(chunks, offersTools, new ChunkMemo())).toEqual(passed(chunks, offersTools, NEVER));
      }),
      { numRuns: 2000 },
    );
  });

  /** One kind of chunk, so that the memo reads it, then the same with characters replaced, which may be no JSON. */
  const damaged = fc.record({
    kind: make,
    words: fc.array(fc.tuple(word, other), { minLength: 4, maxLength: 12 }),
    faults: fc.array(fc.tuple(fc.nat(), fc.constantFrom('"', '\\', '{', '}', ',', ' ', '\u0000', 'é', '0')), {
      maxLength: 3,
    }),
    from: fc.nat(11),
  });

  it('[Q-03] is what parsing gives, and fails where parsing fails, whichever characters are damaged', () => {
    let read = 0;
    fc.assert(
      fc.property(damaged, ({ kind, words, faults, from }) => {
        const chunks = words.map(([text, more], index) => {
          const data = JSON.stringify(kind(text, more));
          return index < from ? data : withFaults(data, faults);
        });
        const found = decoded(chunks, new ChunkMemo());
        read += found.read;
        expect(found.written).toEqual(decoded(chunks, NEVER).written);
      }),
      { numRuns: 3000 },
    );
    expect(read).toBeGreaterThan(1000);
  });
});

/** Each fault replaces the character at its place. */
function withFaults(data: string, faults: readonly (readonly [place: number, character: string])[]): string {
  const characters = [...data];
  for (const [place, character] of faults) characters[place % characters.length] = character;
  return characters.join('');
}

describeShared('what the memo reads of a recorded stream', () => {
  it.each(listShared('corpus/chat-stream', '.sse'))('[Q-03] is what parsing gives: %s', (name) => {
    const chunks = readShared(`corpus/chat-stream/${name}`)
      .split(/\r?\n/)
      .filter((line) => line.startsWith('data: {'))
      .map((line) => line.slice('data: '.length));
    expect(decoded(chunks, new ChunkMemo()).written).toEqual(decoded(chunks, NEVER).written);
  });
});
