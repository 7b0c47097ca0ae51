/** How marks become citations, in whatever pieces a model writes them. */
import fc from 'fast-check';
import { SharedMap } from '../../../src/engine/turn/data/shared-list.ts';
import { type CitedFile, readMarks, withFiles } from '../../../src/engine/turn/machine/cited-files.ts';

const REPORT = { id: `file-a1b2c3${'0'.repeat(26)}`, filename: 'report.pdf' };
const FILES = withFiles(new SharedMap<string, CitedFile>(), [
  { file_id: REPORT.id, filename: REPORT.filename, text: '' },
]);

/** What is shown, with each citation as `<id>`. */
function shown(pieces: readonly string[]): string {
  let held = '';
  let text = '';
  for (const piece of pieces) {
    const read = readMarks(held + piece, FILES);
    held = read.held;
    text += read.pieces.map((each) => (typeof each === 'string' ? each : `<${each.filename}>`)).join('');
  }
  return text + held;
}

describe('marks', () => {
  it.each([
    ['The price is 5 【a1b2c3†report.pdf】.', 'The price is 5<report.pdf>.'],
    ['A【a1b2c3†x】 and B【a1b2c3†】', 'A<report.pdf> and B<report.pdf>'],
    ['Unknown 【ffffff†report.pdf】 stays', 'Unknown 【ffffff†report.pdf】 stays'],
    ['【第一章】 【a1b2c3】', '【第一章】 【a1b2c3】'],
    ['never closed 【a1b2c3†report', 'never closed 【a1b2c3†report'],
    [`too long 【a1b2c3†${'x'.repeat(200)}】`, `too long 【a1b2c3†${'x'.repeat(200)}】`],
    ['【【a1b2c3†report.pdf】】', '【<report.pdf>】'],
  ])('[X-14] are taken out of %j', (text, expected) => {
    expect([shown([text]), shown([...text])]).toEqual([expected, expected]);
  });

  it('[X-14] are the same in any pieces', () => {
    const part = fc.constantFrom('a', ' ', '【', '】', '†', 'a1b2c3', '【a1b2c3†r】', 'word ', '\n');
    fc.assert(
      fc.property(fc.array(part, { maxLength: 60 }), (parts) => {
        const text = parts.join('');
        expect(shown([...text])).toBe(shown([text]));
        expect(shown(parts)).toBe(shown([text]));
      }),
      { numRuns: 300 },
    );
  });
});
