/** Collects the text of a document, up to its limit. */
import { DocumentError } from './document-job.ts';

/** The error for a text with more characters. */
export function tooLongError(maxCharacters: number): DocumentError {
  return new DocumentError('file_too_large', `has more than ${maxCharacters} characters of text`);
}

/** A text that grows; blank space is added only where something follows it. */
export class TextOutput {
  private readonly maxCharacters: number;
  private readonly pieces: string[] = [];
  private length = 0;
  private space = '';

  constructor(maxCharacters: number) {
    this.maxCharacters = maxCharacters;
  }

  /** Throws `file_too_large` past the limit. */
  add(text: string): void {
    if (text === '') return;
    const piece = this.length === 0 ? text : this.space + text;
    this.space = '';
    this.length += piece.length;
    if (this.length > this.maxCharacters) throw tooLongError(this.maxCharacters);
    this.pieces.push(piece);
  }

  /** Adds white space; of several in a row, the strongest stays. */
  break(space: ' ' | '\t' | '\n' | '\n\n'): void {
    if (STRENGTH.indexOf(space) > STRENGTH.indexOf(this.space)) this.space = space;
  }

  toString(): string {
    return this.pieces.join('');
  }
}

const STRENGTH = ['', ' ', '\t', '\n', '\n\n'];
