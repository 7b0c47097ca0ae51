/** How long the encoding takes over texts that are made to take long, whose words a pattern of OpenAI's finds. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { encodedTokens, loadEncoding } from '../../../src/engine/tokens/encoding.ts';
import { expectProportion } from '../../support/cpu-time.ts';
import { describeWhere } from '../../support/skipping.ts';

const peers = join(import.meta.dirname, '../../peers/node_modules');
const isInstalled = existsSync(join(peers, 'js-tiktoken'));
const load = async (name: string) => ({ default: createRequire(join(peers, 'x.js'))(name) });

describeWhere(isInstalled, 'needs js-tiktoken, which `npm run test:clock` installs')(
  'a text that is made to take long',
  () => {
    it.each([
      ['one letter', 'a'],
      ['a word of 63 letters of three bytes, which is in no dictionary', `${'ᴬ'.repeat(62)} `],
      ['ideographs without a space', '龘靐齉爩鱻麤灪'],
      ['emoji', '🧿🪬🫠🫨'],
      ['marks upon marks', '\u0301'],
      ['spaces', ' '],
      ['capitals', 'A'],
      ['digits and letters', 'Zm9vYmFyQmF6Ug8s'],
      ['lines without words', ' \n'],
    ])('[F-12] is counted in time in proportion: %s', async (_, unit) => {
      const encoding = await loadEncoding(load);
      if (!encoding) throw new Error('There is no encoding.');
      await expectProportion(400_000, (size) => {
        const text = unit.repeat(Math.ceil(size / unit.length));
        for (const tokens of encodedTokens(text, encoding)) expect(tokens).toBeGreaterThan(0);
      });
    });
  },
);
