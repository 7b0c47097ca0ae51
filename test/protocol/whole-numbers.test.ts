/** Whole numbers above 2^53 in JSON that becomes objects: what is kept beside them, and what stays as it is. */
import {
  exactObjectIn,
  exactText,
  exactTextOfAll,
  hasDigits,
  markedIn,
  rememberDigits,
  roundedValue,
  unmarked,
  withExactNumbers,
} from '../../src/protocol/json/whole-numbers.ts';
import { expectLinearWork } from '../support/linear-work.ts';

it.each([
  ['a long number', '{"id":9007199254740993}'],
  ['a negative one, in lists and objects', '{"a":[{"b":[-123456789012345678901234567890,1]}]}'],
  [
    'one beside texts with quotes, braces and digits',
    '{"a\\"":"\\\\","9007199254740993":"\\"9007199254740993","b":9007199254740993}',
  ],
  ['one behind a text that ends with escapes', '{"a":"\\\\\\"","b":12345678901234567890}'],
])('[V-25] keeps %s', (_, json) => {
  const value = exactObjectIn(json);

  expect([exactText(value), exactTextOfAll({ all: [value] })]).toEqual([json, `{"all":[${json}]}`]);
  expect([value, roundedValue(markedIn(json))]).toEqual([JSON.parse(json), JSON.parse(json)]);
});

it.each([
  ['safe numbers', '{"a":9007199254740991,"b":1234567890123456}'],
  ['fractions and exponents', '{"a":0.12345678901234567,"b":12345678901234567.5,"c":12345678901234567e3,"d":1e-9}'],
  ['digits in texts', '{"a":"[9007199254740993]"}'],
])('[V-25] leaves %s as they are', (_, json) => {
  expect(markedIn(json)).toEqual(JSON.parse(json));
});

it('[V-25] remembers the digits under the names alone, and forgets them in copies', () => {
  const json = '{"input":{"id":9007199254740993},"other":{"id":9007199254740993},"list":[{"input":{"id":1}}]}';
  const value = JSON.parse(json);
  rememberDigits(value, json, ['input']);
  expect([hasDigits(value.input), hasDigits(value.other), hasDigits(value.list[0].input)]).toEqual([
    true,
    false,
    false,
  ]);
  expect(exactText(value.input)).toBe('{"id":9007199254740993}');
  expect(exactText({ ...value.input })).toBe('{"id":9007199254740992}');
});

it('[V-25] are written with all their digits by code that knows no marks: as numbers, or as texts on Node 20', () => {
  const written = JSON.stringify(withExactNumbers(exactObjectIn('{"id":9007199254740993}') ?? {}));
  expect(written.replaceAll('"9007199254740993"', '9007199254740993')).toBe('{"id":9007199254740993}');
});

it('[V-25] turns nothing into a number that somebody else has marked', () => {
  expect(unmarked('{"a":"whole-number-0:1"}')).toBe('{"a":"whole-number-0:1"}');
});

it('[V-25] is linear in the text, whatever it holds', async () => {
  await expectLinearWork(40_000, (size) => markedIn(`[${'9007199254740993,'.repeat(size / 8)}1]`));
  await expectLinearWork(80_000, (size) => markedIn(`["${'\\\\'.repeat(size / 2)}",9007199254740993]`));
  await expectLinearWork(80_000, (size) => markedIn(`["${'\\"'.repeat(size / 2)}",9007199254740993]`));
});
