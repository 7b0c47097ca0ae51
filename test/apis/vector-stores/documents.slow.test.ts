/** Documents in vector stores: read by `documentText()`, and what cannot be read spoils nothing else. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { documentText } from 'express-open-responses/documents';
import { toFile } from 'openai';
import { describeWhere } from '../../support/skipping.ts';
import { docxOf, paragraph, pdfOf, xlsxOf } from '../../tools/documents/documents.ts';
import { startVectorsApp, type VectorsApp } from './vectors-app.ts';

const WORKER = join(import.meta.dirname, '../../../dist/cjs/tools/documents/reading/document-worker.js');
const describeReading = describeWhere(existsSync(WORKER), 'needs `npm run build`');

const XLSX = xlsxOf({ Prices: '<row><c t="inlineStr"><is><t>Marmalade costs three euros</t></is></c></row>' });
const BOMB = docxOf('', { name: 'word/footnotes.xml', content: Buffer.alloc(40_000_000) });
const PDF_BOMB = pdfOf(['x'], { content: deflateSync(Buffer.alloc(40_000_000, ' ')) });
const BROKEN = Buffer.from('%PDF-1.7\n1 0 obj << /Type /Catalog');
const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');

describeReading('documents in vector stores', () => {
  let app: VectorsApp;
  let store: string;
  beforeAll(async () => {
    app = await startVectorsApp({ stores: { documents: documentText({ maxUnpackedBytes: 4_000_000 }) } });
    store = (await app.client.vectorStores.create({})).id;
  });
  afterAll(() => app.close());

  async function indexedFile(name: string, content: Buffer | string) {
    const file = await toFile(Buffer.from(content), name);
    const { id } = await app.client.files.create({ file, purpose: 'assistants' });
    return app.client.vectorStores.files.createAndPoll(store, { file_id: id }, { pollIntervalMs: 50 });
  }

  it.each([
    ['a PDF', 'lease.pdf', pdfOf(['The lease ends in October']), 'lease October', 'The lease ends in October'],
    [
      'a Word document',
      'cats.docx',
      docxOf(paragraph('Kittens &amp; cats purr')),
      'kittens purr',
      'Kittens & cats purr',
    ],
    ['a workbook', 'prices.xlsx', XLSX, 'marmalade euros', 'Marmalade costs three euros'],
    ['a page', 'page.html', '<!doctype html><p>Bicycles <b>have</b> wheels', 'bicycles wheels', 'Bicycles have wheels'],
  ])('[X-14] finds the text of %s', async (_, name, content, query, text) => {
    expect(await indexedFile(name, content)).toMatchObject({ status: 'completed', last_error: null });
    const { data } = await app.client.vectorStores.search(store, { query, max_num_results: 1 });
    expect(data).toMatchObject([{ filename: name, content: [{ text: expect.stringContaining(text) }] }]);
  });

  it.each([
    ['an archive that is far larger unpacked', 'bomb.docx', BOMB, 'invalid_file'],
    ['a PDF that is far larger unpacked', 'bomb.pdf', PDF_BOMB, 'invalid_file'],
    ['a broken PDF', 'broken.pdf', BROKEN, 'invalid_file'],
    ['a file of another type', 'photo.png', PNG, 'unsupported_file'],
  ])('[X-14] reports why %s failed, and indexes the next file', async (_, name, content, code) => {
    expect(await indexedFile(name, content)).toMatchObject({ status: 'failed', last_error: { code } });
    expect(await indexedFile('next.docx', docxOf(paragraph(`After ${name}`)))).toMatchObject({ status: 'completed' });
  });
});
