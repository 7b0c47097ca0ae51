/** The warnings of the server while an agent has the terminal: they are printed when it has ended. */
import type { LogFields, Logger } from '../../ports/host/logger.ts';
import { printableMessage } from './failure.ts';

/** The most lines that are kept: the first ones, as later ones mostly follow from them. */
const MAX_LINES = 20;
/** The most characters of a line. */
const MAX_LENGTH = 400;

/** Bounded, since an agent may run for days. */
export class HeldLines {
  private readonly lines: string[] = [];
  private count = 0;
  private isHolding = false;
  readonly logger: Logger;

  /** From now on those of the process itself come here, too. */
  constructor() {
    const log = (message: string, fields: LogFields) => this.add(`${message} ${JSON.stringify(fields)}`);
    this.logger = { debug() {}, info() {}, warn: log, error: log };
    process.removeAllListeners('warning').on('warning', ({ message }) => this.add(message));
  }

  /** Until `hold` it is printed at once. */
  readonly add = (text: string): void => {
    const line = `Warning: ${printableMessage(text).slice(0, MAX_LENGTH)}`;
    if (!this.isHolding) return console.error(line);
    this.count += 1;
    if (this.lines.length < MAX_LINES) this.lines.push(line);
  };

  /** The terminal is another's from now on. */
  hold(): void {
    this.isHolding = true;
  }

  /** Prints what was held. */
  print(): void {
    this.isHolding = false;
    for (const line of this.lines) console.error(line);
    if (this.count > this.lines.length) console.error(`Warning: ${this.count - this.lines.length} more such lines.`);
  }
}
