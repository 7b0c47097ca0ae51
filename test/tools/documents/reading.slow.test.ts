/** The text of documents of each type, and what is made to use up whoever reads it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { type DocumentTextOptions, documentText } from 'express-open-responses/documents';
import type { ApiError } from '../../../src/protocol/errors.ts';
import { describeWhere } from '../../support/skipping.ts';
import { documentOf, docxOf, LOCKED, paragraph, pdfOf, pptxOf, xlsxOf, zipOf } from './documents.ts';

const NEVER = new AbortController().signal;
const WORKER = join(import.meta.dirname, '../../../dist/cjs/tools/documents/reading/document-worker.js');
const describeReading = describeWhere(existsSync(WORKER), 'needs `npm run build`');

type Given = ReturnType<typeof documentOf>;

/** The text, or the code of the error. */
async function read(document: Given, options: DocumentTextOptions = {}): Promise<string> {
  const reader = documentText(options);
  try {
    return await reader.read(document, NEVER).catch((error: ApiError) => error.code);
  } finally {
    await reader.close?.();
  }
}

const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le');
const cell = (inside: string, attributes = '') => `<c ${attributes}>${inside}</c>`;
const ROWS = [
  `<row>${cell('<v>0</v>', 'r="A1" t="s"')}${cell('<v>45000</v>', 'r="C1" s="1"')}${cell('<v>0.5</v>', 's="2"')}</row>`,
  `<row>${cell('<v>1</v>', 'r="B2" t="b"')}${cell('<v>45000.25</v>', 's="3"')}${cell('<f>1+1</f><v>2</v>')}</row>`,
].join('');
const TABLE = `<w:tbl><w:tr><w:tc>${paragraph('a')}</w:tc><w:tc>${paragraph('b')}</w:tc></w:tr></w:tbl>`;

describeReading('the text of a document', () => {
  it.each<[string, Given, string]>([
    ['plain', documentOf('a.txt', 'Hällo'), 'Hällo'],
    ['UTF-8 with a mark', documentOf('a.csv', '\ufeffa,b'), 'a,b'],
    ['UTF-16', documentOf('a.txt', utf16('Hällo')), 'Hällo'],
    ['UTF-16, big endian', documentOf('a.txt', utf16('Hällo').swap16()), 'Hällo'],
    ['code', documentOf('../../etc/a.rs', 'fn main() {}'), 'fn main() {}'],
    ['empty', documentOf('a.txt', ''), ''],
    ['long', documentOf('a.txt', 'x'.repeat(300_000)), 'x'.repeat(300_000)],
    [
      'HTML',
      documentOf(
        'a',
        '<!doctype html><title>T</title><script>no</script><p>One <b>two</b>\n three<br>four<pre>x\n  y</pre>',
      ),
      'T\n\nOne two three\nfour\n\nx\n  y',
    ],
    ['HTML by its name', documentOf('a.htm', '<table><tr><td>a<td>b<tr><td>c'), 'a\tb\nc'],
    ['PDF', documentOf('a.txt', pdfOf(['Page one', 'Page two'])), 'Page one\n\nPage two'],
    ['Word', documentOf('a.docx', docxOf(paragraph('One &amp; two') + TABLE)), 'One & two\na\tb'],
    ['Word by its content', documentOf('a.pdf', docxOf(paragraph('One')), 'application/pdf'), 'One'],
    [
      'Excel',
      documentOf(
        'a.xlsx',
        xlsxOf({ One: ROWS, Two: '<row><c t="inlineStr"><is><t>x</t></is></c></row>' }, [
          '<t>Na</t><rPh><t>no</t></rPh><t>me</t>',
        ]),
      ),
      '## One\nName\t\t2023-03-15\t12:00:00\nTRUE\t2023-03-15 06:00:00\t2\n\n## Two\nx',
    ],
    ['PowerPoint', documentOf('a.pptx', pptxOf('One', 'Two')), 'One\n\nTwo'],
  ])('[X-14] is read: %s', async (_, document, text) => {
    expect(await read(document)).toBe(text);
  });

  const ENTITIES = `<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>`;
  const LAUGHS = zipOf({ name: 'word/document.xml', content: `${ENTITIES}<d><p><t>x &b;</t></p></d>` });
  it('[X-14] has no entity of its own expanded', async () => {
    expect(await read(documentOf('a.docx', LAUGHS))).toBe('x &b;');
  });

  const spaces = (bytes: number) => ({ name: 'word/document.xml', content: Buffer.alloc(bytes, ' ') });
  const whole = docxOf(paragraph('One'));
  it.each<[string, Given, DocumentTextOptions, string]>([
    ['a picture', documentOf('a.docx', Buffer.from('89504e470d0a1a0a0000', 'hex')), {}, 'unsupported_file'],
    ['zeros', documentOf('a.txt', Buffer.alloc(32 * 1024 * 1024)), {}, 'unsupported_file'],
    ['no UTF-8', documentOf('a.txt', Buffer.from('Köln', 'latin1')), {}, 'unsupported_file'],
    ['an archive', documentOf('a.docx', zipOf({ name: 'a.txt', content: 'x' })), {}, 'unsupported_file'],
    [
      'an archive in an archive',
      documentOf('a.docx', zipOf({ name: 'b.docx', content: whole })),
      {},
      'unsupported_file',
    ],
    ['an old document', documentOf('a.doc', Buffer.from('d0cf11e0a1b11ae1', 'hex')), {}, 'unsupported_file'],
    [
      'an encrypted document',
      documentOf(
        'a.docx',
        Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.from('EncryptedPackage', 'utf16le')]),
      ),
      {},
      'invalid_file',
    ],
    ['an encrypted entry', documentOf('a.docx', zipOf({ ...spaces(9), flags: 1 })), {}, 'invalid_file'],
    ['a cut document', documentOf('a.docx', whole.subarray(0, -30)), {}, 'invalid_file'],
    ['a damaged document', documentOf('a.docx', Buffer.from(whole).fill(7, 120, 160)), {}, 'invalid_file'],
    [
      'a flat bomb',
      documentOf('a.docx', docxOf('', { ...spaces(9), name: 'word/footnotes.xml', content: Buffer.alloc(40_000_000) })),
      { maxUnpackedBytes: 1_000_000 },
      'file_too_large',
    ],
    [
      'a bomb that declares less',
      documentOf('a.docx', zipOf({ ...spaces(40_000_000), declared: 100 })),
      {},
      'invalid_file',
    ],
    [
      'a bomb of a sheet',
      documentOf('a.xlsx', xlsxOf({ A: ' '.repeat(9_000_000), B: ' '.repeat(9_000_000) })),
      { maxUnpackedBytes: 10_000_000 },
      'file_too_large',
    ],
    [
      'much text of little',
      documentOf(
        'a.xlsx',
        xlsxOf({ A: `<row>${cell('<v>0</v>', 't="s"').repeat(9000)}</row>` }, [`<t>${'x'.repeat(9000)}</t>`]),
      ),
      {},
      'file_too_large',
    ],
    ['deep elements', documentOf('a.docx', docxOf('<a>'.repeat(100_000))), {}, 'invalid_file'],
    ['a megabyte of nested tags', documentOf('a.html', '<div>'.repeat(200_000)), {}, 'invalid_file'],
    ['too many sheets', documentOf('a.xlsx', xlsxOf({ A: '', B: '', C: '' })), { maxPages: 2 }, 'file_too_large'],
    ['a PDF with a password', documentOf('a.pdf', pdfOf(['x'], { trailer: LOCKED })), {}, 'invalid_file'],
    ['a PDF of nothing', documentOf('a.pdf', '%PDF-1.7 nothing'), {}, 'invalid_file'],
    ['a cut PDF', documentOf('a.pdf', pdfOf(['x']).subarray(0, 300)), {}, 'invalid_file'],
    ['10,000 pages', documentOf('a.pdf', pdfOf(Array.from({ length: 10_000 }, () => 'x'))), {}, 'file_too_large'],
    [
      'a bomb of a PDF',
      documentOf('a.pdf', pdfOf(['x'], { content: deflateSync(Buffer.alloc(100_000_000, ' ')) })),
      { maxUnpackedBytes: 8_000_000 },
      'file_too_large',
    ],
    ['more bytes than allowed', documentOf('a.txt', '12345'), { maxBytes: 4 }, 'file_too_large'],
    ['more bytes than announced', { ...documentOf('a.txt', '12345'), bytes: 1 }, { maxBytes: 4 }, 'file_too_large'],
    ['more text than allowed', documentOf('a.txt', '12345'), { maxCharacters: 4 }, 'file_too_large'],
    [
      'more text of a document',
      documentOf('a.docx', docxOf(paragraph('12345'))),
      { maxCharacters: 4 },
      'file_too_large',
    ],
    ['too little time', documentOf('a.pdf', pdfOf(['x'])), { timeoutMs: 1 }, 'file_too_large'],
    [
      'too little memory',
      documentOf(
        'a.xlsx',
        xlsxOf(
          { A: '' },
          Array.from({ length: 400_000 }, (_, at) => `<t>${at}</t>`),
        ),
      ),
      { maxMemoryMb: 8 },
      'file_too_large',
    ],
  ])('[X-14] is refused: %s', async (_, document, options, code) => {
    expect(await read(document, options)).toBe(code);
  });
});

describeReading('documentText', () => {
  it('[X-14] names the file and the limit in the error, and the package that is missing to the host alone', async () => {
    const reader = documentText({ maxPages: 1 });
    const error = await reader.read(documentOf('a.pdf', pdfOf(['x', 'y'])), NEVER).catch((thrown: ApiError) => thrown);
    expect(error).toMatchObject({ status: 413, message: "The file 'a.pdf' has 2 pages, and at most 1 are read." });
  });

  it('[X-14] reads as many at a time as it has processes, lets some wait and refuses the others', async () => {
    const reader = documentText({ processes: 1, waiting: 1 });
    const all = [1, 2, 3].map(() => reader.read(documentOf('a.pdf', pdfOf(['x'])), NEVER).catch((error) => error.code));
    expect((await Promise.all(all)).toSorted()).toEqual(['too_many_documents', 'x', 'x']);
    expect(await reader.read(documentOf('a.pdf', pdfOf(['y'])), NEVER)).toBe('y');
  });

  it('[X-14] reads the next document after one that took too much', async () => {
    const reader = documentText({ maxMemoryMb: 32, processes: 1 });
    const strings = Array.from({ length: 900_000 }, (_, at) => `<t>${at} and more</t>`);
    const refused = await reader
      .read(documentOf('a.xlsx', xlsxOf({ A: '' }, strings)), NEVER)
      .catch(({ code }) => code);
    expect([refused, await reader.read(documentOf('a.docx', docxOf(paragraph('x'))), NEVER)]).toEqual([
      'file_too_large',
      'x',
    ]);
  });

  it('[X-14] stops when its signal is aborted, also while it waits, and when it is closed', async () => {
    const reader = documentText({ processes: 1 });
    const stop = new AbortController();
    const reading = [NEVER, stop.signal].map((signal) => reader.read(documentOf('a.pdf', pdfOf(['x'])), signal));
    const settled = Promise.allSettled(reading);
    stop.abort(new Error('left'));
    expect(await settled).toMatchObject([{ value: 'x' }, { reason: new Error('left') }]);
    const cut = reader.read(documentOf('a.pdf', pdfOf(['x'])), NEVER).catch((error) => error.code);
    await reader.close?.();
    await reader.close?.();
    expect(['server_draining', 'invalid_file']).toContain(await cut);
  });

  it.each([
    ['maxPages', 0],
    ['timeoutMs', 1.5],
    ['processes', '2'],
  ])('[X-14] refuses the option %s: %s', (name, value) => {
    expect(() => documentText({ [name]: value })).toThrow(TypeError);
    expect(() => documentText({ [name]: value })).toThrow(`documentText: ${name} must be`);
  });
});
