/** Finds the end of a JSON object that is still being written, reading each character once. */

/** How far a text has been read as one object. */
export interface ObjectReading {
  readonly phase: 'before' | 'inside' | 'after' | 'other';
  readonly depth: number;
  readonly inText: boolean;
  readonly isEscaped: boolean;
}

/** Before the first character, for a state that is a value. */
export const OBJECT_START: ObjectReading = { phase: 'before', depth: 0, inText: false, isEscaped: false };

/** The reading after this piece of the text. */
export function readObject(reading: ObjectReading, text: string): ObjectReading {
  const counter = new ObjectEnd(reading);
  counter.take(text);
  return counter.reading();
}

const BLANK = /\s/;

/** Reads a text piece by piece. Only braces are counted; the content is for the tool to validate. */
export class ObjectEnd {
  private depth: number;
  private phase: ObjectReading['phase'];
  private inText: boolean;
  private isEscaped: boolean;

  constructor({ phase, depth, inText, isEscaped }: ObjectReading = OBJECT_START) {
    this.depth = depth;
    this.phase = phase;
    this.inText = inText;
    this.isEscaped = isEscaped;
  }

  reading(): ObjectReading {
    const { phase, depth, inText, isEscaped } = this;
    return { phase, depth, inText, isEscaped };
  }

  take(text: string): void {
    for (const character of text) this.read(character);
  }

  /** Whether the text so far is one object from its first brace to its last, ignoring surrounding blanks. */
  isReached(): boolean {
    return this.phase === 'after';
  }

  /** Whether the text is no object, or goes on behind one. */
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
