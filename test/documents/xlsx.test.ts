/** The columns of Excel workbooks whose cells do not name their position. */
import { TextOutput } from '../../src/documents/reading/text-output.ts';
import { readXlsx } from '../../src/documents/reading/xlsx.ts';
import { Zip } from '../../src/documents/reading/zip.ts';
import { xlsxOf } from './documents.ts';

function textOf(rows: string): string {
  const output = new TextOutput(1_000_000);
  readXlsx(new Zip(new Uint8Array(xlsxOf({ A: rows })), 1_000_000), output, 10);
  return output.toString();
}

describe('a workbook', () => {
  it('[X-14] keeps its columns behind an empty cell that does not name its position', () => {
    const rows =
      '<row><c><v>1</v></c><c/><c><v>3</v></c></row><row><c r="B2"/><c><v>4</v></c><c r="E2"><v>5</v></c></row>';
    expect(textOf(rows)).toBe('## A\n1\t\t3\n4\t\t5');
  });
});
