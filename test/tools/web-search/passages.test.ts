/** A text that the model looks for in a page. */
import { passagesIn } from '../../../src/tools/web-search/pages/passages.ts';
import { expectLinearWork } from '../../support/linear-work.ts';

describe('a text in a page', () => {
  it('[F-04] is looked for in proportion to the page, whatever both repeat', async () => {
    await expectLinearWork(100_000, (size) => {
      const text = `bb${'ab'.repeat(size / 25)}`;
      expect(passagesIn('ab'.repeat(size), text, 16_000)).toContain('The page does not contain');
    });
  });

  it('[B-41] that is very long is found by its beginning', () => {
    const long = 'A sentence of a page. '.repeat(40);
    expect(passagesIn(`Before. ${long} After.`, long, 16_000)).toContain('Before. A sentence of a page.');
  });
});
