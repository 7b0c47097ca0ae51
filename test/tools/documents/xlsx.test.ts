/** Excel workbooks as other programs write them: cells without their position, and other prefixes. */
import { jest } from '@jest/globals';
import { TextOutput } from '../../../src/tools/documents/reading/text-output.ts';
import { readXlsx } from '../../../src/tools/documents/reading/xlsx.ts';
import { Zip } from '../../../src/tools/documents/reading/zip.ts';
import { xlsxOf, zipOf } from './documents.ts';

function textOf(workbook: Buffer): string {
  const output = new TextOutput(1_000_000);
  readXlsx(new Zip(new Uint8Array(workbook), 1_000_000), output, 10);
  return output.toString();
}

describe('a workbook', () => {
  it('[X-14] keeps its columns behind an empty cell that does not name its position', () => {
    const rows =
      '<row><c><v>1</v></c><c/><c><v>3</v></c></row><row><c r="B2"/><c><v>4</v></c><c r="E2"><v>5</v></c></row>';
    expect(textOf(xlsxOf({ A: rows }))).toBe('## A\n1\t\t3\n4\t\t5');
  });

  it('[X-14] has its sheets, whatever prefix names their relations', () => {
    const workbook = zipOf(
      {
        name: 'xl/workbook.xml',
        content: '<x:workbook><x:sheets><x:sheet name="A" d3p1:id="a"/></x:sheets></x:workbook>',
      },
      {
        name: 'xl/_rels/workbook.xml.rels',
        content: '<Relationships><Relationship Id="a" Target="a.xml"/></Relationships>',
      },
      { name: 'xl/a.xml', content: '<x:worksheet><x:row><x:c><x:v>1</x:v></x:c></x:row></x:worksheet>' },
    );
    expect(textOf(workbook)).toBe('## A\n1');
  });

  it('[G-07] is read once for each part, however many sheets name it', () => {
    const names = Array.from({ length: 2000 }, (_, index) => `S${index}`);
    const workbook = zipOf(
      {
        name: 'xl/workbook.xml',
        content: `<workbook><sheets>${names.map((name) => `<sheet name="${name}" r:id="a"/>`).join('')}</sheets></workbook>`,
      },
      {
        name: 'xl/_rels/workbook.xml.rels',
        content: '<Relationships><Relationship Id="a" Target="a.xml"/></Relationships>',
      },
      { name: 'xl/a.xml', content: '<worksheet><row><c><v>1</v></c></row></worksheet>' },
    );
    const zip = new Zip(new Uint8Array(workbook), 1_000_000);
    const read = jest.spyOn(zip, 'read');
    const output = new TextOutput(1_000_000);
    readXlsx(zip, output, 2000);
    expect([output.toString(), read.mock.calls.filter(([name]) => name === 'xl/a.xml').length]).toEqual([
      '## S0\n1',
      1,
    ]);
    expect(() => readXlsx(zip, output, 1999)).toThrow('has more than 1999 pages, sheets or slides');
  });

  it('[G-07] is refused if its parts share their bytes', () => {
    const workbook = xlsxOf({ A: '<row><c><v>1</v></c></row>', B: '<row><c><v>2</v></c></row>' });
    const at = workbook.lastIndexOf(Buffer.from('504b0102', 'hex'));
    const before = workbook.lastIndexOf(Buffer.from('504b0102', 'hex'), at - 1);
    workbook.copy(workbook, at + 42, before + 42, before + 46);
    expect(() => new Zip(new Uint8Array(workbook), 1_000_000)).toThrow('is damaged or cut off');
  });
});
