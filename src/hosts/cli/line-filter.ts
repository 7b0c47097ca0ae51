/** Leaves lines out of a stream while it is passed on. */
import { Transform } from 'node:stream';

/** Passes on every byte as it arrives but for the lines that begin with this ASCII text; only what may become such a line is held back. */
export function lineFilter(beginning: string): Transform {
  let held = '';
  let place: 'start' | 'passed line' | 'left-out line' = 'start';

  function passed(piece: string): string {
    const isLast = piece.endsWith('\n');
    if (place === 'start') {
      held += piece;
      if (held.startsWith(beginning)) place = 'left-out line';
      else if (beginning.startsWith(held)) return '';
      else place = 'passed line';
    } else held = piece;
    const text = place === 'passed line' ? held : '';
    held = '';
    if (isLast) place = 'start';
    return text;
  }

  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      // One character for each byte, so that none is changed where a chunk ends within a character.
      const pieces = chunk.toString('latin1').split(/(?<=\n)/);
      done(null, Buffer.from(pieces.map(passed).join(''), 'latin1'));
    },
    flush(done) {
      done(null, Buffer.from(held, 'latin1'));
    },
  });
}
