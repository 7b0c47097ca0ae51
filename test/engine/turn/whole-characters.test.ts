/** Characters that a model server has sent in two halves. */

import fc from 'fast-check';
import { WholeCharacters } from '../../../src/engine/turn/data/whole-characters.ts';
import type { TurnInput } from '../../../src/protocol/events.ts';

const LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;
const text = (value: string): TurnInput => ({ type: 'text-delta', text: value });
const finish: TurnInput = { type: 'finish', reason: 'stop' };

function read(batches: readonly (readonly TurnInput[])[]): readonly TurnInput[] {
  const whole = new WholeCharacters();
  return [...batches.flatMap((batch) => whole.map(batch)), ...(whole.end() ?? [])];
}

const said = (input: TurnInput) => ('text' in input ? input.text : 'arguments' in input ? input.arguments : '');

describe('characters in two halves', () => {
  it('[V-26] are whole in each delta, wherever the text is cut, and the text is the same', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.array(fc.nat(40), { maxLength: 8 }),
        fc.boolean(),
        (value, cuts, batched) => {
          const places = [
            0,
            ...cuts.map((at) => at % (value.length + 1)).toSorted((one, other) => one - other),
            value.length,
          ];
          const deltas = places.slice(1).map((at, index) => text(value.slice(places[index], at)));
          const events = read(batched ? [[...deltas, finish]] : [...deltas.map((delta) => [delta]), [finish]]);
          expect(events.filter((event) => LONE.test(said(event)))).toEqual([]);
          expect(events.map(said).join('')).toBe(value);
          expect(events.at(-1)).toEqual(finish);
        },
      ),
    );
  });

  it('[V-26] wait in each call for themselves', () => {
    const call = (number: number, value: string, more = {}): TurnInput => ({
      type: 'tool-call-delta',
      call: number,
      arguments: value,
      ...more,
    });
    const events = read([
      [
        call(0, 'a\ud83d', { name: 'f', id: 'x' }),
        call(1, '\ud83d', { name: 'g' }),
        call(0, '\ude00'),
        call(1, '\ude80'),
      ],
    ]);
    expect(events).toEqual([
      call(0, 'a', { name: 'f', id: 'x' }),
      call(1, '', { name: 'g' }),
      call(0, '😀'),
      call(1, '🚀'),
    ]);
  });

  it('[V-26] are no character, if the other one never comes', () => {
    expect(read([[text('a\ud83d')], [finish]])).toEqual([text('a'), text('\ufffd'), finish]);
    expect(read([[text('\ud83d')]])).toEqual([text('\ufffd')]);
  });

  it('[V-26] leave a batch without them as it is', () => {
    const batch = [text('Hi 😀'), finish];
    expect(new WholeCharacters().map(batch)).toBe(batch);
  });
});
