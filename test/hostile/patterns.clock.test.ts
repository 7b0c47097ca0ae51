/** Patterns over untrusted text: judged by an analysis, and run over texts that are hard for each. */
import { checkSync } from 'recheck';
import { FIELD_START, readField } from '../../src/engine/turn/data/text-field.ts';
import { isLogProbsText } from '../../src/protocol/json/log-probs.ts';
import { lineOf, type Pattern, patternsOfSource } from '../structure/patterns.ts';
import { expectProportion } from '../support/cpu-time.ts';
import { tally } from './tally.ts';

// The analysis has faster backends, which are native programs that may be missing here.
process.env.RECHECK_BACKEND = 'pure';

const { tried } = tally('patterns');
const MIB = 1024 * 1024;
/** A size at which quadratic time shows before it takes minutes: 64 Ki characters are four thousand million steps. */
const SIZE = 64 * 1024;

const unique = new Map(patternsOfSource().literals.map((pattern) => [lineOf(pattern), pattern]));
const patterns = [...unique].map(([line, pattern]) => [line, pattern] as const);

/** Characters that the pattern may match: its own, and one of each kind. */
function charactersOf({ source }: Pattern): readonly string[] {
  const own = source.replace(/\\[dDwWsSbBnrtpu]|[\\^$.*+?()[\]{}|]/g, '');
  return [...new Set([...own, 'a', '0', ' ', '\n', '-', '/', '"', '\\', '\u00e9'])].slice(0, 40);
}

/** The beginnings that the pattern requires: its literal runs. */
function beginningsOf({ source }: Pattern): readonly string[] {
  const plain = source.replace(/\(\?[:!=]/g, '(').replace(/\\([^\w])/g, '$1');
  return [...new Set(plain.match(/[\w"'${}:;/<-]{2,}/g) ?? [])].slice(0, 8);
}

/** Repetitions, with a beginning that the pattern requires and an end that it refuses. */
function* attacksOn(pattern: Pattern, size: number): Generator<string> {
  const characters = charactersOf(pattern);
  const beginnings = beginningsOf(pattern);
  const filled = (unit: string) => unit.repeat(Math.ceil(size / unit.length)).slice(0, size);
  for (const character of characters) {
    yield `${filled(character)}\u0000`;
    for (const beginning of ['', ...beginnings]) {
      yield `${beginning}${filled(character)}\u0000`;
      yield `${filled(`${beginning}${character}`)}\u0000`;
    }
  }
  for (const beginning of beginnings) yield `${filled(beginning)}\u0000`;
}

/** As the source may use it: all matches, since those after a failure start again. */
function read({ source, flags }: Pattern, text: string): void {
  const global = new RegExp(source, flags.includes('g') ? flags : `${flags}g`);
  const plain = new RegExp(source, flags);
  plain.test(text);
  text.replace(global, '');
}

describe('patterns', () => {
  it('[F-04] are judged by an analysis that detects quadratic time', () => {
    expect(checkSync('\\n+$', '').status).toBe('vulnerable');
  });

  it.each(patterns)(
    '[F-04] %s is found to be safe',
    (line, { source, flags }) => {
      const { status } = checkSync(source, flags, { timeout: 30_000 });
      expect([line, status]).toEqual([line, 'safe']);
      tried('pattern analysed');
    },
    60_000,
  );

  it.each(patterns)(
    '[F-04] %s takes time in proportion to the text',
    async (_line, pattern) => {
      const attacks = [...attacksOn(pattern, 1)].length;
      for (let number = 0; number < attacks; number += 1)
        await expectProportion(SIZE, (size) => {
          let at = 0;
          for (const text of attacksOn(pattern, size)) if (at++ === number) return read(pattern, text);
        });
      tried(`text of ${SIZE} characters`, attacks);
    },
    240_000,
  );

  it.each(['[', '{"token":"', '{"token":"a","logprob":-0.', '\\', '[[', '"'])(
    '[F-04] quickly rejects a repeated %s as a list of log probabilities',
    async (unit) => {
      await expectProportion(MIB, (size) => expect(isLogProbsText(unit.repeat(size / unit.length))).toBe(false));
      tried('text of log probabilities', 2);
    },
  );

  it.each([' ', '{', '{ ', '{"input" ', '\\', '"', 'x'])(
    '[F-04] quickly reads a repeated %j as the arguments of a call',
    async (unit) => {
      await expectProportion(MIB, (size) => {
        readField(FIELD_START, 'input', unit.repeat(size));
        let state = FIELD_START;
        for (let count = 0; count < size / 32; count += 1) [state] = readField(state, 'input', unit);
      });
      tried('arguments of a call', 2);
    },
  );
});
