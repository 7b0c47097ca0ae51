/** Patterns over untrusted text: judged by an analysis, and run over a megabyte that is hard for each. */
import { checkSync } from 'recheck';
import { isLogProbsText } from '../../src/protocol/chat-completions/log-probs.ts';
import { FIELD_START, readField } from '../../src/turn/data/text-field.ts';
import { lineOf, type Pattern, patternsOfSource } from '../structure/patterns.ts';
import { tally } from './tally.ts';

// The analysis has faster backends, which are native programs that may be missing here.
process.env.RECHECK_BACKEND = 'pure';

const { tried } = tally('patterns');
const MIB = 1024 * 1024;
/** Sizes at which quadratic time shows before it takes minutes: 32 Ki characters are a thousand million steps. */
const SIZES = [8 * 1024, 32 * 1024, MIB];
const MOST_SECONDS = 2;

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
function seconds({ source, flags }: Pattern, text: string): number {
  const global = new RegExp(source, flags.includes('g') ? flags : `${flags}g`);
  const plain = new RegExp(source, flags);
  const before = process.cpuUsage();
  plain.test(text);
  text.replace(global, '');
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
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
    '[F-04] %s takes no long time over a megabyte',
    (_line, pattern) => {
      for (const size of SIZES) {
        let count = 0;
        let slowest = 0;
        for (const text of attacksOn(pattern, size)) {
          // A few of the longest are enough: quadratic time shows in the short ones.
          if (size === MIB && count > 24) break;
          slowest = Math.max(slowest, seconds(pattern, text));
          expect(slowest).toBeLessThan(MOST_SECONDS);
          count += 1;
        }
        tried(`text of ${size} characters`, count);
      }
    },
    60_000,
  );

  it.each(['[', '{"token":"', '{"token":"a","logprob":-0.', '\\', '[[', '"'])(
    '[F-04] quickly rejects a repeated %s as a list of log probabilities',
    (unit) => {
      const before = process.cpuUsage();
      for (const size of [65_000, MIB]) expect(isLogProbsText(unit.repeat(size / unit.length))).toBe(false);
      expect(process.cpuUsage(before).user / 1e6).toBeLessThan(MOST_SECONDS);
      tried('text of log probabilities', 2);
    },
  );

  it.each([' ', '{', '{ ', '{"input" ', '\\', '"', 'x'])(
    '[F-04] quickly reads a repeated %j as the arguments of a call',
    (unit) => {
      const before = process.cpuUsage();
      readField(FIELD_START, 'input', unit.repeat(MIB));
      let state = FIELD_START;
      for (let count = 0; count < 20_000; count += 1) [state] = readField(state, 'input', unit);
      expect(process.cpuUsage(before).user / 1e6).toBeLessThan(MOST_SECONDS);
      tried('arguments of a call', 2);
    },
  );
});
