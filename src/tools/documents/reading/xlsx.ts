/** The text of Excel workbooks: a heading for each sheet, a line for each row, tabs between cells. */
import { listedParts, readPart } from './package-parts.ts';
import type { TextOutput } from './text-output.ts';
import type { Zip } from './zip.ts';

const MAX_COLUMNS = 16_384;
const WORKBOOK = 'xl/workbook.xml';

interface Book {
  readonly strings: readonly string[];
  /** By the number of a cell's style. */
  readonly areDates: readonly boolean[];
  /** Days from the workbook's first day to 1970. */
  readonly epoch: number;
}

export function readXlsx(zip: Zip, output: TextOutput, maxPages: number): void {
  const sheets = listedParts(zip, WORKBOOK, 'sheet', maxPages);
  let epoch = 25_569;
  readPart(zip, WORKBOOK, {
    open(name, { date1904 = '' }) {
      if (name === 'workbookPr' && (date1904 === '1' || date1904 === 'true')) epoch = 24_107;
    },
  });
  const book = { strings: readSharedStrings(zip), areDates: readDateStyles(zip), epoch };
  for (const { path, attributes } of sheets) {
    output.add(`## ${attributes.name ?? ''}`);
    output.break('\n');
    readSheet(zip, path, book, output);
    output.break('\n\n');
  }
}

function readSheet(zip: Zip, path: string, book: Book, output: TextOutput): void {
  let cell: Readonly<Record<string, string>> = {};
  let column = 0;
  /** The column of the last cell that is shown. */
  let lastColumn = 0;
  let value = '';
  let isValue = false;
  readPart(zip, path, {
    open(name, attributes) {
      if (name === 'row') [column, lastColumn] = [0, 0];
      if (name === 'v' || name === 't') isValue = true;
      if (name !== 'c') return;
      cell = attributes;
      // Its number from 1; a cell need not name its position.
      const letters = /^[A-Z]{1,3}/.exec(cell.r ?? '')?.[0];
      const number = [...(letters ?? '')].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0);
      column = letters ? Math.min(MAX_COLUMNS, number) : column + 1;
      value = '';
    },
    text(text) {
      if (isValue) value += text;
    },
    close(name) {
      if (name === 'v' || name === 't') isValue = false;
      if (name === 'row') output.break('\n');
      if (name !== 'c' || value === '') return;
      if (lastColumn > 0 && column > lastColumn) output.add('\t'.repeat(column - lastColumn));
      lastColumn = column;
      output.add(cellText(value, cell, book));
    },
  });
}

function cellText(value: string, { t: type, s: style }: Readonly<Record<string, string>>, book: Book): string {
  // A line of the text is a row.
  if (type === 's') return oneLine(book.strings[Number(value)] ?? '');
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE';
  if (type !== undefined && type !== 'n') return oneLine(value);
  return book.areDates[Number(style)] ? dateText(value, book.epoch) : value;
}

function oneLine(text: string): string {
  return text.replace(/[\t\r\n]/g, ' ');
}

const DAY_MS = 86_400_000;

function dateText(value: string, epoch: number): string {
  const ms = Math.round((Number(value) - epoch) * DAY_MS);
  if (value.trim() === '' || !(Math.abs(ms) < 8e15)) return value;
  const text = new Date(ms).toISOString().slice(0, 19);
  if (text.endsWith('T00:00:00')) return text.slice(0, 10);
  // Less than a day is a time.
  return Number(value) < 1 ? text.slice(11) : text.replace('T', ' ');
}

function readSharedStrings(zip: Zip): readonly string[] {
  const strings: string[] = [];
  let text = '';
  let isText = false;
  // The pronunciation of a Japanese text stands beside it.
  let isPhonetic = false;
  readPart(zip, 'xl/sharedStrings.xml', {
    open(name) {
      if (name === 'si') text = '';
      if (name === 'rPh') isPhonetic = true;
      if (name === 't') isText = true;
    },
    text(piece) {
      if (isText && !isPhonetic) text += piece;
    },
    close(name) {
      if (name === 'rPh') isPhonetic = false;
      if (name === 't') isText = false;
      if (name === 'si') strings.push(text);
    },
  });
  return strings;
}

const MAX_CODE_LENGTH = 1000;

/** Whether a format shows a date or a time; runs in linear time. */
function isDateCode(code: string): boolean {
  const lastEnds: Readonly<Record<string, number>> = { '"': code.lastIndexOf('"'), '[': code.lastIndexOf(']') };
  for (let at = 0; at < code.length; at += 1) {
    const mark = code.charAt(at);
    if (/[dmyhs]/i.test(mark)) return true;
    // A character that stands for itself, a quoted text, and a colour or a condition in brackets.
    if (mark === '\\') at += 1;
    else if ((lastEnds[mark] ?? 0) > at) at = code.indexOf(mark === '[' ? ']' : mark, at + 1);
  }
  return false;
}

function readDateStyles(zip: Zip): readonly boolean[] {
  const areDates = new Map<string, boolean>();
  const styles: boolean[] = [];
  let isInCells = false;
  readPart(zip, 'xl/styles.xml', {
    open(name, { numFmtId = '', formatCode = '' }) {
      if (name === 'numFmt') areDates.set(numFmtId, isDateCode(formatCode.slice(0, MAX_CODE_LENGTH)));
      if (name === 'cellXfs') isInCells = true;
      if (name !== 'xf' || !isInCells) return;
      const id = Number(numFmtId);
      // A built-in format needs no code.
      const isBuiltInDate =
        (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 45 && id <= 47) || (id >= 50 && id <= 58);
      styles.push(areDates.get(numFmtId) ?? isBuiltInDate);
    },
    close(name) {
      if (name === 'cellXfs') isInCells = false;
    },
  });
  return styles;
}
