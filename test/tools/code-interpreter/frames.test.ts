/** Frames out of bytes, however these are cut, and whatever they are. */
import fc from 'fast-check';
import {
  encodeFrames,
  type Frame,
  frameReader,
  HEADER_BYTES,
} from '../../../src/tools/code-interpreter/shared/frames.ts';
import { FRAME_BYTES, KINDS } from '../../../src/tools/code-interpreter/shared/kinds.ts';

function read(chunks: readonly Uint8Array[]): { readonly frames: readonly Frame[]; readonly broken: number } {
  const frames: Frame[] = [];
  let broken = 0;
  const reader = frameReader({ frame: (one) => frames.push(one), broken: () => (broken += 1) });
  for (const chunk of chunks) reader(Buffer.from(chunk));
  return { frames, broken };
}

function cut(bytes: Buffer, cuts: readonly number[]): readonly Buffer[] {
  let rest = bytes;
  const chunks = cuts.map((length) => {
    const chunk = rest.subarray(0, length);
    rest = rest.subarray(length);
    return chunk;
  });
  return [...chunks, rest];
}

const field = fc.record({
  kind: fc.constantFrom(...KINDS),
  id: fc.nat(0xffffffff),
  data: fc.uint8Array({ maxLength: 50 }),
});

describe('frames', () => {
  it('[F-03] come back as they were sent, however the bytes are cut', () => {
    fc.assert(
      fc.property(fc.array(field), fc.array(fc.nat(30)), (fields, cuts) => {
        const bytes = Buffer.concat(fields.map(({ kind, id, data }) => encodeFrames(kind, id, data)));
        const sent = fields.map(({ data, ...rest }) => ({ ...rest, data: Buffer.from(data) }));
        expect(read(cut(bytes, cuts))).toEqual({ frames: sent, broken: 0 });
      }),
    );
  });

  it('[F-03] carry a large field in several, none of which is larger than the limit', () => {
    const data = Buffer.alloc(2 * FRAME_BYTES + 1, 'abc');
    const { frames } = read([encodeFrames('data', 7, data)]);
    expect(frames.map((frame) => frame.data.length)).toEqual([FRAME_BYTES, FRAME_BYTES, 1]);
    expect(Buffer.concat(frames.map((frame) => frame.data)).equals(data)).toBe(true);
  });

  it('[F-03] are not read out of garbage, which breaks the reader once and for all', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 200 })), (chunks) => {
        const total = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
        const { frames, broken } = read(chunks);
        const taken = frames.reduce((sum, frame) => sum + HEADER_BYTES + frame.data.length, 0);
        expect([taken <= total, broken <= 1]).toEqual([true, true]);
      }),
    );
  });

  it.each([
    ['an unknown kind', [KINDS.length, 0, 0, 0, 1, 0, 0, 0, 0]],
    ['a length over the limit', [0, 0, 0, 0, 1, 0, 1, 0, 1]],
  ])('[F-03] are refused at the header for %s', (_name, header) => {
    expect(read([Buffer.from(header), encodeFrames('done', 1)])).toEqual({ frames: [], broken: 1 });
  });
});
