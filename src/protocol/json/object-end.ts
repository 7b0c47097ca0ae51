/** Finds the end of a JSON object that is still being written, reading each character once. */

/** Reads the text piece by piece. */
export interface ObjectEnd {
  take(text: string): void;
  /** Whether the text so far is one object from its first brace to its last, ignoring surrounding blanks. */
  isReached(): boolean;
  /** Whether the text is no object, or goes on behind one. */
  isMissed(): boolean;
}

/** Before the first character. Only braces are counted; the content is for the tool to validate. */
export function objectEnd(): ObjectEnd {
  return new BraceCounter();
}

const BLANK = /\s/;

class BraceCounter implements ObjectEnd {
  private depth = 0;
  private phase: 'before' | 'inside' | 'after' | 'other' = 'before';
  private inText = false;
  private isEscaped = false;

  take(text: string): void {
    for (const character of text) this.read(character);
  }

  isReached(): boolean {
    return this.phase === 'after';
  }

  isMissed(): boolean {
    return this.phase === 'other';
  }

  private read(character: string): void {
    if (this.phase === 'inside') this.readInside(character);
    else if (this.phase === 'before' && character === '{') this.readInside(character);
    else if (!BLANK.test(character)) this.phase = 'other';
  }

  private readInside(character: string): void {
    this.phase = 'inside';
    if (this.isEscaped) this.isEscaped = false;
    else if (this.inText) this.readText(character);
    else if (character === '"') this.inText = true;
    else if (character === '{') this.depth += 1;
    else if (character === '}') this.depth -= 1;
    if (this.depth === 0) this.phase = 'after';
  }

  private readText(character: string): void {
    this.isEscaped = character === '\\';
    this.inText = character !== '"';
  }
}
