/** The text of Word documents and PowerPoint presentations. */
import { listedParts, readPart } from './package-parts.ts';
import type { TextOutput } from './text-output.ts';
import type { Zip } from './zip.ts';

/** Properties, and what repeats a drawing for older programs. */
const SKIPPED = new Set(['pPr', 'rPr', 'tblPr', 'sectPr', 'Fallback']);

/** The paragraphs in their order, a line for each row of a table, and then the notes. */
export function readDocx(zip: Zip, output: TextOutput): void {
  for (const part of ['document', 'footnotes', 'endnotes', 'comments']) {
    readParagraphs(zip, `word/${part}.xml`, output);
    output.break('\n\n');
  }
}

/** The slides in their order. */
export function readPptx(zip: Zip, output: TextOutput, maxPages: number): void {
  for (const { path } of listedParts(zip, 'ppt/presentation.xml', 'sldId', maxPages)) {
    readParagraphs(zip, path, output);
    output.break('\n\n');
  }
}

function readParagraphs(zip: Zip, path: string, output: TextOutput): void {
  let skipped = 0;
  let texts = 0;
  let cells = 0;
  readPart(zip, path, {
    open(name) {
      if (SKIPPED.has(name)) skipped += 1;
      else if (name === 't') texts += 1;
      else if (name === 'tc') cells += 1;
      else if (skipped === 0 && name === 'tab') output.add('\t');
      else if (skipped === 0 && (name === 'br' || name === 'cr')) output.break(cells > 0 ? ' ' : '\n');
    },
    text(text) {
      if (texts > 0 && skipped === 0) output.add(text);
    },
    close(name) {
      if (SKIPPED.has(name)) skipped -= 1;
      else if (name === 't') texts -= 1;
      else if (name === 'p') output.break(cells > 0 ? ' ' : '\n');
      else if (name === 'tr') output.break('\n');
      else if (name === 'tc') {
        cells -= 1;
        output.break('\t');
      }
    },
  });
}
