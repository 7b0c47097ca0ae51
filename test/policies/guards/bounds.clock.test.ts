/** How long guards take at most, whose patterns look at any text. */
import { allowUrls, pii } from '../../../src/policies/guards/index.ts';
import { cpuSeconds, expectProportion } from '../../support/cpu-time.ts';
import { guardedInPieces, requestGuards } from './support.ts';

const PROSE =
  `The quick brown fox jumps over the lazy dog, while 12 of its friends watch from the 3rd row. They met at 12:30 on
01.02.2024, paid 10 000 for the hall and 3.50 each for tea; nobody counted the misunderstandings. `.repeat(20);

const HOSTILE = [
  'a',
  '1',
  '1 ',
  '4 ',
  '+1',
  '+1 ',
  '(',
  '@',
  'a@',
  'a@a.',
  'a.',
  '0 1',
  'DE',
  'DE8',
  'sk-',
  'sk-1a',
  '[',
  '[EMAIL',
  'h:',
  '://',
  'a://',
  '"//',
  '=//a',
  '(//a.',
  'https:',
  'https:\n',
  'MT84 A ',
  'sk-a-',
  '"\\',
  'é',
  '-',
  // JSON in the text, or what may become it.
  '[x',
  '[1',
  '[[',
  '{"',
  '{"a":',
  '["\\',
  '["\\\\',
  '\\',
  '\\n',
  '\\u00',
];

describe('time', () => {
  it.each(HOSTILE)('is in proportion to the text for %j again and again', async (text) => {
    const guards = [pii(), allowUrls({})];
    await expectProportion(400_000, async (size) => {
      const whole = text.repeat(Math.ceil(size / text.length));
      for (const guard of guards) {
        guard.scan?.(whole, 0, true);
        await guardedInPieces(guard, whole, [4096]);
      }
      const { guards: request } = requestGuards({ input: [pii({ restore: true })], output: [pii()] });
      await request.forModel(`bob@example.com ${whole}`, 'input');
      await request.output(`{"a":"${whole}`, 'arguments');
    });
  });

  it('is for no text more than thirty times that of prose', async () => {
    const secondsFor = async (text: string) => {
      const whole = text.repeat(Math.ceil(1_000_000 / text.length));
      const scan = () => cpuSeconds(() => pii().scan?.(whole, 0, true));
      return Math.min(await scan(), await scan(), await scan());
    };
    const prose = await secondsFor(PROSE);
    const slow: string[] = [];
    for (const text of HOSTILE) if ((await secondsFor(text)) > 30 * prose) slow.push(text);
    expect(slow).toEqual([]);
  });
});
