/** The text of Excel workbooks: a heading for each sheet, a line for each row, tabs between cells. */
import { partsIn, readPart } from './package-parts.ts';
import type { TextOutput } from './text-output.ts';
import type { Zip } from './zip.ts';

const WORKBOOK = 'xl/workbook.xml';

interface Book {
  readonly strings: readonly string[];
  /** By the number of a cell's style. */
  readonly areDates: readonly boolean[];
  /** Days from the workbook's first day to 1970. */
  readonly epoch: number;
}

export function readXlsx(zip: Zip, output: TextOutput, maxPages: number): void {
  const sheets = partsIn(zip, WORKBOOK, 'sheet', maxPages);
  const book = { strings: stringsOf(zip), areDates: dateStyles(zip), epoch: epochOf(zip) };
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
  let last = 0;
  let value = '';
  let isValue = false;
  readPart(zip, path, {
    open(name, attributes) {
      if (name === 'row') [column, last] = [0, 0];
      if (name === 'v' || name === 't') isValue = true;
      if (name !== 'c') return;
      cell = attributes;
      column = columnOf(cell.r) ?? column + 1;
      value = '';
    },
    text(text) {
      if (isValue) value += text;
    },
    close(name) {
      if (name === 'v' || name === 't') isValue = false;
      if (name === 'row') output.break('\n');
      if (name !== 'c' || value === '') return;
      if (last > 0 && column > last) output.add('\t'.repeat(column - last));
      last = column;
      output.add(shown(value, cell, book));
    },
  });
}

const WIDEST = 16_384;

/** The column's number from 1; undefined if the cell does not name its position. */
function columnOf(reference = ''): number | undefined {
  const letters = /^[A-Z]{1,3}/.exec(reference)?.[0];
  if (!letters) return undefined;
  return Math.min(
    WIDEST,
    [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0),
  );
}

function shown(value: string, { t: type, s: style }: Readonly<Record<string, string>>, book: Book): string {
  // A line of the text is a row.
  if (type === 's') return oneLine(book.strings[Number(value)] ?? '');
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE';
  if (type !== undefined && type !== 'n') return oneLine(value);
  return book.areDates[Number(style)] ? dateOf(value, book.epoch) : value;
}

function oneLine(text: string): string {
  return text.replace(/[\t\r\n]/g, ' ');
}

const DAY_MS = 86_400_000;

function dateOf(value: string, epoch: number): string {
  const ms = Math.round((Number(value) - epoch) * DAY_MS);
  if (value.trim() === '' || !(Math.abs(ms) < 8e15)) return value;
  const text = new Date(ms).toISOString().slice(0, 19);
  if (text.endsWith('T00:00:00')) return text.slice(0, 10);
  // Less than a day is a time.
  return Number(value) < 1 ? text.slice(11) : text.replace('T', ' ');
}

function stringsOf(zip: Zip): readonly string[] {
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
function showsDate(code: string): boolean {
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

function dateStyles(zip: Zip): readonly boolean[] {
  const areDates = new Map<string, boolean>();
  const styles: boolean[] = [];
  let isInCells = false;
  readPart(zip, 'xl/styles.xml', {
    open(name, { numFmtId = '', formatCode = '' }) {
      if (name === 'numFmt') areDates.set(numFmtId, showsDate(formatCode.slice(0, MAX_CODE_LENGTH)));
      if (name === 'cellXfs') isInCells = true;
      if (name === 'xf' && isInCells) styles.push(areDates.get(numFmtId) ?? isDateFormat(Number(numFmtId)));
    },
    close(name) {
      if (name === 'cellXfs') isInCells = false;
    },
  });
  return styles;
}

/** Whether a built-in format, which needs no code, shows a date or a time. */
function isDateFormat(id: number): boolean {
  return (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 45 && id <= 47) || (id >= 50 && id <= 58);
}

function epochOf(zip: Zip): number {
  let epoch = 25_569;
  readPart(zip, WORKBOOK, {
    open(name, { date1904 = '' }) {
      if (name === 'workbookPr' && (date1904 === '1' || date1904 === 'true')) epoch = 24_107;
    },
  });
  return epoch;
}
