/** Documents that are made for the tests: archives, Office documents and PDFs. */
import { crc32, deflateRawSync, deflateSync } from 'node:zlib';

/** An entry of an archive; what it declares is its own length if not given. */
export interface ZipEntry {
  readonly name: string;
  readonly content: Buffer | string;
  readonly declared?: number;
  readonly flags?: number;
}

/** A ZIP archive. */
export function zipOf(...entries: readonly ZipEntry[]): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const { name, content, declared, flags = 0 } of entries) {
    const bytes = Buffer.from(content);
    const packed = deflateRawSync(bytes);
    const fields = Buffer.alloc(22);
    fields.writeUInt16LE(flags, 0);
    fields.writeUInt16LE(8, 2);
    fields.writeUInt32LE(crc32(bytes), 8);
    fields.writeUInt32LE(packed.length, 12);
    fields.writeUInt32LE(declared ?? bytes.length, 16);
    fields.writeUInt16LE(Buffer.byteLength(name), 20);
    const local = Buffer.concat([
      Buffer.from('504b03041400', 'hex'),
      fields,
      Buffer.alloc(2),
      Buffer.from(name),
      packed,
    ]);
    const place = Buffer.alloc(16);
    place.writeUInt32LE(at, 12);
    directory.push(Buffer.concat([Buffer.from('504b010214001400', 'hex'), fields, place, Buffer.from(name)]));
    files.push(local);
    at += local.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...files, central, end]);
}

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';

/** A Word document with this body. */
export function docxOf(body: string, ...more: readonly ZipEntry[]): Buffer {
  const content = `${XML}<w:document xmlns:w="w"><w:body>${body}</w:body></w:document>`;
  return zipOf({ name: '[Content_Types].xml', content: XML }, { name: 'word/document.xml', content }, ...more);
}

/** A paragraph of a Word document. */
export function paragraph(text: string): string {
  return `<w:p><w:pPr><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr><w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`;
}

/** An Excel workbook with these sheets, whose cells have the styles: general, a date, a time and a date of its own format. */
export function xlsxOf(
  sheets: Readonly<Record<string, string>>,
  strings: readonly string[] = [],
  ...more: readonly ZipEntry[]
): Buffer {
  const names = Object.keys(sheets);
  const list = names.map((name, at) => `<sheet name="${name}" sheetId="${at + 1}" r:id="rId${at + 1}"/>`).join('');
  const targets = names
    .map((_, at) => `<Relationship Id="rId${at + 1}" Target="worksheets/sheet${at + 1}.xml"/>`)
    .join('');
  const formats = ['0', '14', '20', '200'].map((id) => `<xf numFmtId="${id}"/>`).join('');
  const styles = `<numFmts><numFmt numFmtId="200" formatCode="[$-407]dd\\.mm\\.yyyy&quot;d&quot;"/></numFmts>`;
  return zipOf(
    { name: 'xl/workbook.xml', content: `${XML}<workbook><workbookPr/><sheets>${list}</sheets></workbook>` },
    { name: 'xl/_rels/workbook.xml.rels', content: `${XML}<Relationships>${targets}</Relationships>` },
    { name: 'xl/sharedStrings.xml', content: `${XML}<sst>${strings.map((each) => `<si>${each}</si>`).join('')}</sst>` },
    {
      name: 'xl/styles.xml',
      content: `${XML}<styleSheet>${styles}<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs>${formats}</cellXfs></styleSheet>`,
    },
    ...names.map((name, at) => ({
      name: `xl/worksheets/sheet${at + 1}.xml`,
      content: `${XML}<worksheet><sheetData>${sheets[name]}</sheetData></worksheet>`,
    })),
    ...more,
  );
}

/** A PowerPoint presentation with these slides, which are stored in the opposite order. */
export function pptxOf(...slides: readonly string[]): Buffer {
  const place = (at: number) => slides.length - at;
  const ids = slides.map((_, at) => `<p:sldId id="${256 + at}" r:id="rId${at}"/>`).join('');
  const targets = slides
    .map((_, at) => `<Relationship Id="rId${at}" Target="/ppt/slides/slide${place(at)}.xml"/>`)
    .join('');
  return zipOf(
    { name: 'ppt/presentation.xml', content: `${XML}<p:presentation><p:sldIdLst>${ids}</p:sldIdLst></p:presentation>` },
    { name: 'ppt/_rels/presentation.xml.rels', content: `${XML}<Relationships>${targets}</Relationships>` },
    ...slides.map((text, at) => ({
      name: `ppt/slides/slide${place(at)}.xml`,
      content: `${XML}<p:sld><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:sld>`,
    })),
  );
}

/** A PDF with a line of text on each page; `trailer` is added to its last dictionary, and `content` is a page's stream. */
export function pdfOf(
  pages: readonly string[],
  { trailer = '', content }: { readonly trailer?: string; readonly content?: Buffer } = {},
): Buffer {
  const streams = pages.map((text) => content ?? deflateSync(`BT /F1 12 Tf 50 700 Td (${text}) Tj ET`));
  const kids = pages.map((_, at) => `${4 + 2 * at} 0 R`).join(' ');
  const objects: Buffer[] = [
    Buffer.from('<< /Type /Catalog /Pages 2 0 R >>'),
    Buffer.from(`<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`),
    Buffer.from('<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>'),
    ...streams.flatMap((stream, at) => [
      Buffer.from(
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents ${5 + 2 * at} 0 R >>`,
      ),
      Buffer.concat([
        Buffer.from(`<< /Length ${stream.length} /Filter /FlateDecode >>\nstream\n`),
        stream,
        Buffer.from('\nendstream'),
      ]),
    ]),
  ];
  return written(objects, trailer);
}

function written(objects: readonly Buffer[], trailer: string): Buffer {
  const pieces = [Buffer.from('%PDF-1.7\n')];
  const places: number[] = [];
  let at = 9;
  for (const [index, object] of objects.entries()) {
    const whole = Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), object, Buffer.from('\nendobj\n')]);
    places.push(at);
    pieces.push(whole);
    at += whole.length;
  }
  const lines = places.map((place) => `${String(place).padStart(10, '0')} 00000 n \n`).join('');
  const size = objects.length + 1;
  const end = `xref\n0 ${size}\n0000000000 65535 f \n${lines}trailer\n<< /Size ${size} /Root 1 0 R ${trailer} >>\nstartxref\n${at}\n%%EOF\n`;
  return Buffer.concat([...pieces, Buffer.from(end)]);
}

/** What a PDF that only a password opens has in its trailer. */
export const LOCKED = `/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <${'00'.repeat(32)}> /U <${'11'.repeat(32)}> >> /ID [<00> <00>]`;

/** The document as a reader is given it, in pieces. */
export function documentOf(filename: string, content: Buffer | string, contentType?: string) {
  const bytes = Buffer.from(content);
  return {
    ...{ filename, contentType, bytes: bytes.length },
    async content() {
      return (async function* () {
        for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
      })();
    },
  };
}
