/** What `pii` finds, in a whole text and in one that comes in pieces. */

import { pii } from 'express-open-responses/guards';
import fc from 'fast-check';
import type { GuardFinding } from '../../../src/ports/guard.ts';
import { guardedInPieces, requestGuards, shownOf, withoutPunctuation } from './support.ts';

const guard = pii();

function found(text: string): readonly string[] {
  const findings: readonly GuardFinding[] = guard.scan?.(text, 0, true).findings ?? [];
  return findings.map(({ start, end, rule }) => `${rule} ${text.slice(start, end)}`);
}

describe('pii', () => {
  it.each([
    ['Write to bob@example.com.', ['EMAIL bob@example.com']],
    ['<a.b+c@mail.example.co.uk>', ['EMAIL a.b+c@mail.example.co.uk']],
    ['Müller: jörg.müller@exämple.de', ['EMAIL jörg.müller@exämple.de']],
    ['bob@localhost, a@b, @handle, x@', []],
    [
      'DE89 3704 0044 0532 0130 00 and GB29NWBK60161331926819',
      ['IBAN DE89 3704 0044 0532 0130 00', 'IBAN GB29NWBK60161331926819'],
    ],
    ['DE89 3704 0044 0532 0130 01', []],
    ['Card 4111 1111 1111 1111 123', ['CARD 4111 1111 1111 1111']],
    ['4111111111111112, 41111111111111111111, id 1234567890123456', []],
    [
      '+49 30 901820, (212) 555-0123 or 1-212-555-0123',
      ['PHONE +49 30 901820', 'PHONE (212) 555-0123', 'PHONE 1-212-555-0123'],
    ],
    ['030 901820 99', ['PHONE 030 901820 99']],
    ['On 01.02.2024 12:30, 01/02/2024, 3.14159, 1700000000, 10 000 000', []],
    [
      'sk-proj-abcDEF123456ghiJKL, AKIAIOSFODNN7EXAMPLE.',
      ['KEY sk-proj-abcDEF123456ghiJKL', 'KEY AKIAIOSFODNN7EXAMPLE'],
    ],
    ['sk-loading-indicator-wrapper is a class', []],
  ])('finds in %j', (text, expected) => {
    expect(found(text)).toEqual(expected);
  });

  it('finds the same in a text that is cut anywhere', async () => {
    const piece = fc.oneof(
      fc.constantFrom(
        'bob@example.com',
        'DE89 3704 0044 0532 0130 00',
        '4111-1111-1111-1111',
        '+49 30 901820',
        '(212) 555-0123',
      ),
      fc.constantFrom(
        'sk-abcDEF123456ghiJKL',
        ' ',
        '. ',
        '1',
        '12 34',
        'word',
        '@',
        '+',
        '-',
        '0',
        'de8',
        'ß',
        '\n',
        '(',
        'x'.repeat(70),
      ),
      fc.string({ maxLength: 8 }),
    );
    const texts = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));
    await fc.assert(
      fc.asyncProperty(texts, fc.array(fc.nat({ max: 20 }), { minLength: 1, maxLength: 20 }), async (text, sizes) => {
        const shown = [await guardedInPieces(guard, text, sizes), await shownOf(guard, text)];
        const [pieces, whole] = /[[{]/.test(text) ? shown.map(withoutPunctuation) : shown;
        expect(pieces).toBe(whole);
      }),
      { numRuns: 3000 },
    );
  });
});

describe('a long text', () => {
  const text = `${'sk-a-'.repeat(200_000)} bob@example.com ${'4 '.repeat(50_000)}bob@example.com`;
  const safe = text.replaceAll('bob@example.com', '[EMAIL]');

  it('is read in slices, between which others have their turn', async () => {
    const { guards } = requestGuards({ input: [pii()], output: [pii()], tools: [pii()] });
    const reading = [() => guards.input(text, 'input'), () => guards.output(text, 'text')];
    for (const read of reading) {
      let turns = 0;
      const turn = () => {
        turns += 1;
        next = setImmediate(turn);
      };
      let next = setImmediate(turn);
      expect((await read()) === safe).toBe(true);
      clearImmediate(next);
      expect(turns).toBeGreaterThan(20);
    }
  });

  it('is given up when the client leaves, and when the time is over', async () => {
    const leaving = new AbortController();
    const { guards } = requestGuards({ input: [pii()] }, leaving.signal);
    const read = guards.input(text, 'input');
    leaving.abort(new Error('left'));
    await expect(read).rejects.toThrow('left');
    const hurried = requestGuards({ input: [pii({ timeoutMs: 1 })] }).guards;
    await expect(hurried.input(text.repeat(4), 'input')).rejects.toMatchObject({ code: 'guard_failed' });
  });
});
