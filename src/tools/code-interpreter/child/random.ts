/** Random bytes from a seed, without a function of Node in the realm: ChaCha20 (RFC 8439). */

/** The bytes of a key. */
export const SEED_BYTES = 32;

const WORDS = 16;
const CONSTANTS = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574];
/** The columns of the state, then its diagonals. */
const QUARTERS = [
  [0, 4, 8, 12],
  [1, 5, 9, 13],
  [2, 6, 10, 14],
  [3, 7, 11, 15],
  [0, 5, 10, 15],
  [1, 6, 11, 12],
  [2, 7, 8, 13],
  [3, 4, 9, 14],
] as const;

/** Fills bytes; uses each byte of the stream only once. */
export function randomBytes(seed: Uint8Array): (bytes: Uint8Array) => void {
  const key = new DataView(seed.buffer, seed.byteOffset);
  const state = new Uint32Array(WORDS);
  state.set(CONSTANTS);
  for (let word = 0; word < SEED_BYTES / 4; word += 1) state[4 + word] = key.getUint32(4 * word, true);
  let block = new Uint8Array();
  let used = 0;
  return function fill(bytes) {
    for (let index = 0; index < bytes.length; index += 1) {
      if (used === block.length) {
        block = nextBlock(state);
        used = 0;
      }
      bytes[index] = block[used] ?? 0;
      used += 1;
    }
  };
}

/** The next 64 bytes; increments the counter, which takes two words of the state. */
function nextBlock(state: Uint32Array): Uint8Array<ArrayBuffer> {
  const mixed = state.slice();
  for (let round = 0; round < 10; round += 1) {
    for (const [a, b, c, d] of QUARTERS) {
      mixStep(mixed, a, b, d, 16);
      mixStep(mixed, c, d, b, 12);
      mixStep(mixed, a, b, d, 8);
      mixStep(mixed, c, d, b, 7);
    }
  }
  const bytes = new DataView(new ArrayBuffer(4 * WORDS));
  for (let word = 0; word < WORDS; word += 1) bytes.setUint32(4 * word, (mixed[word] ?? 0) + (state[word] ?? 0), true);
  state[12] = (state[12] ?? 0) + 1;
  if (state[12] === 0) state[13] = (state[13] ?? 0) + 1;
  return new Uint8Array(bytes.buffer);
}

function mixStep(words: Uint32Array, to: number, from: number, turned: number, by: number): void {
  const sum = ((words[to] ?? 0) + (words[from] ?? 0)) >>> 0;
  words[to] = sum;
  const bits = (words[turned] ?? 0) ^ sum;
  words[turned] = (bits << by) | (bits >>> (32 - by));
}
