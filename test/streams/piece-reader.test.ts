/** The pieces of a body that is passed on, whose connection gives what it holds at once when it is resumed. */
import { type ByteReader, type Bytes, PieceReader } from '../../src/streams/bytes.ts';

const PIECE = Buffer.alloc(300 * 1024, 'x');
const WATCH = { reset() {}, finish() {}, stop() {} };

/** As undici's: `resume` does not return before it has read what the socket holds, or is paused again. */
function held(pieces: number): Bytes {
  let reader: ByteReader | undefined;
  let left = pieces;
  let isPaused = false;
  return {
    readBy(byteReader) {
      reader = byteReader;
    },
    pause() {
      isPaused = true;
    },
    resume() {
      for (isPaused = false; !isPaused && left > 0; left -= 1) reader?.bytes(PIECE);
      if (left === 0) reader?.ended();
    },
    close() {},
  };
}

it('[E-07] a piece reader loses no piece that arrives within resume', async () => {
  const sizes: number[] = [];
  for await (const piece of new PieceReader(held(5), WATCH, (error) => error)) sizes.push(piece.length);
  expect(sizes).toEqual(Array(5).fill(PIECE.length));
});
