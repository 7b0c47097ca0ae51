/** How much of what a person marks `pii` finds, and how much of what it finds is marked. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pii } from '../../../src/policies/guards/index.ts';

/** A text with what a person finds in it: the rule and the value. */
interface Labelled {
  readonly text: string;
  readonly find: readonly string[];
}

// The cast: the file stands beside this one.
const LABELLED = JSON.parse(readFileSync(join(import.meta.dirname, 'labelled.json'), 'utf8')) as readonly Labelled[];
const guard = pii();
const KINDS = ['EMAIL', 'PHONE', 'IBAN', 'CARD', 'KEY'] as const;

function foundIn(text: string): readonly string[] {
  const { findings } = guard.scan?.(text, 0, true) ?? { findings: [] };
  return findings.map(({ start, end, rule }) => `${rule} ${text.slice(start, end)}`);
}

function countsOf(kind: string) {
  let right = 0;
  let found = 0;
  let marked = 0;
  for (const { text, find } of LABELLED) {
    const mine = foundIn(text).filter((each) => each.startsWith(kind));
    const theirs = find.filter((each) => each.startsWith(kind));
    right += mine.filter((each) => theirs.includes(each)).length;
    found += mine.length;
    marked += theirs.length;
  }
  return { precision: `${right} of ${found}`, recall: `${right} of ${marked}` };
}

it('has the precision and the recall that docs/decisions/guards.md states', () => {
  expect(LABELLED).toHaveLength(250);
  expect(Object.fromEntries(KINDS.map((kind) => [kind, countsOf(kind)]))).toEqual({
    EMAIL: { precision: '24 of 26', recall: '24 of 27' },
    PHONE: { precision: '30 of 31', recall: '30 of 34' },
    IBAN: { precision: '27 of 27', recall: '27 of 27' },
    CARD: { precision: '17 of 17', recall: '17 of 17' },
    KEY: { precision: '16 of 16', recall: '16 of 18' },
  });
});

it('finds of what nobody marked only these', () => {
  const wrong = LABELLED.flatMap(({ text, find }) => foundIn(text).filter((each) => !find.includes(each)));
  // The end of an address with an apostrophe, an address of a machine, and bits in groups.
  expect(wrong).toEqual(['EMAIL neil@example.com', 'EMAIL git@github.com', 'PHONE 0101 0101 1100']);
});

it('misses of what is marked only these', () => {
  const missed = LABELLED.flatMap(({ text, find }) => {
    const found = foundIn(text);
    return find.filter((each) => !found.includes(each));
  });
  expect(missed).toEqual([
    "EMAIL o'neil@example.com",
    'EMAIL bob (at) example (dot) com',
    'EMAIL postmaster@[192.168.1.10]',
    // Without a mark that distinguishes them from other numbers.
    'PHONE 01715550123',
    'PHONE 5550123',
    'PHONE 06.12.34.56.78',
    'PHONE 2125550123',
    // Of no provider that is known.
    'KEY 8f14e45fceea167a5a36dedd4bea2543',
    'KEY hunter2-and-more',
  ]);
});
