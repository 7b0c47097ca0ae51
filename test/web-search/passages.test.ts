/** A text that the model looks for in a page. */
import { passagesIn } from '../../src/web-search/pages/passages.ts';

describe('a text in a page', () => {
  it('[F-04] takes no long time, whatever both repeat', () => {
    const before = process.cpuUsage();
    const page = 'ab'.repeat(2.5 * 2 ** 20);
    expect(passagesIn(page, `bb${'ab'.repeat(100_000)}`, 16_000)).toContain('The page does not contain');
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(3);
  });

  it('[B-41] that is very long is found by its beginning', () => {
    const long = 'A sentence of a page. '.repeat(40);
    expect(passagesIn(`Before. ${long} After.`, long, 16_000)).toContain('Before. A sentence of a page.');
  });
});
