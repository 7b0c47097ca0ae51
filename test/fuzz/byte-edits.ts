/** Recordings with some of their bytes changed, so that a failure shrinks to few and small changes. */
import fc from 'fast-check';

/** Bytes as text, one character each (latin1), so that an input is plain JSON. */
export type ByteText = string;

/** No input is larger, however often a piece of it is repeated. */
export const MOST_BYTES = 128 * 1024;
/** Recordings are cut off here. */
const MOST_OF_A_SAMPLE = 12 * 1024;

/** What parsers trip over. */
const PIECES: readonly string[] = [
  ...['\n', '\r', '\r\n', '\n\n', '\0', '\ufeff', '\u2028', '"', '\\', '{', '}', '[', ']', ':', ',', ' ', '-', '\t'],
  ...['data: ', 'data:', 'data', 'event: error\n', 'id: 1\n', 'retry: 1\n', ': c\n', 'data: [DONE]\n\n', '[DONE]'],
  ...['null', 'true', '0', '-1', '1e999', '1e308', '0.5', '[]', '{}', '""', '[null]', '{"a":', '\\u0000', '\\ud800'],
  ...['"__proto__":{"a":1},', '"constructor":1,', '"index":1e9,', '"content":null,', '"delta":{},', '"choices":[],'],
  ...[
    '"tool_calls":[{"index":0}],',
    '"finish_reason":"stop",',
    '"usage":{},',
    '"error":{"message":"m"},',
    '"type":"x",',
  ],
  ...['é', '中', '😀', '<think>', '</think>', '\u00c3', '\u00ff\u00fe', '\u00ed\u00a0\u0080', '\u00f0\u009f'],
];

type Edit =
  | { readonly what: 'insert'; readonly at: number; readonly piece: string; readonly times: number }
  | { readonly what: 'remove' | 'double' | 'keep'; readonly at: number; readonly length: number }
  | { readonly what: 'flip'; readonly at: number; readonly bit: number }
  | { readonly what: 'move'; readonly at: number; readonly length: number; readonly to: number }
  | { readonly what: 'join'; readonly at: number; readonly other: string };

const at = fc.nat(MOST_OF_A_SAMPLE);
const length = fc.oneof(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 600 }));
const times = fc.oneof({ weight: 12, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.nat(20_000) });

function editsFrom(samples: readonly ByteText[]): fc.Arbitrary<Edit> {
  const piece = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...PIECES.map((text) => Buffer.from(text).toString('latin1'))) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes).toString('latin1')) },
  );
  return fc.oneof(
    { weight: 4, arbitrary: fc.record({ what: fc.constant('insert' as const), at, piece, times }) },
    { weight: 4, arbitrary: fc.record({ what: fc.constantFrom('remove' as const, 'double' as const), at, length }) },
    { weight: 1, arbitrary: fc.record({ what: fc.constant('keep' as const), at, length: fc.nat(MOST_OF_A_SAMPLE) }) },
    { weight: 3, arbitrary: fc.record({ what: fc.constant('flip' as const), at, bit: fc.nat(7) }) },
    { weight: 2, arbitrary: fc.record({ what: fc.constant('move' as const), at, length, to: at }) },
    { weight: 1, arbitrary: fc.record({ what: fc.constant('join' as const), at, other: fc.constantFrom(...samples) }) },
  );
}

/** One of the samples with up to six changes. */
export function editedBytes(samples: readonly ByteText[]): fc.Arbitrary<ByteText> {
  const short = samples.map((sample) => sample.slice(0, MOST_OF_A_SAMPLE));
  return fc
    .tuple(fc.constantFrom(...short), fc.array(editsFrom(short), { maxLength: 6 }))
    .map(([sample, edits]) => edits.reduce(edited, sample).slice(0, MOST_BYTES));
}

function edited(text: ByteText, edit: Edit): ByteText {
  const place = edit.at % (text.length + 1);
  const [before, after] = [text.slice(0, place), text.slice(place)];
  switch (edit.what) {
    case 'insert':
      return before + edit.piece.repeat(Math.min(edit.times, MOST_BYTES / Math.max(1, edit.piece.length))) + after;
    case 'remove':
      return before + after.slice(edit.length);
    case 'double':
      return before + after.slice(0, edit.length) + after;
    case 'keep':
      return after.slice(0, edit.length);
    case 'flip':
      return before + String.fromCharCode(after.charCodeAt(0) ^ (1 << edit.bit) || 0) + after.slice(1);
    case 'join':
      return before + edit.other.slice(edit.other.length >> 1);
    case 'move': {
      const rest = before + after.slice(edit.length);
      const to = edit.to % (rest.length + 1);
      return rest.slice(0, to) + after.slice(0, edit.length) + rest.slice(to);
    }
  }
}

/** The offsets at which the bytes of an answer are cut; none for a whole one. */
export const cuts = fc.oneof(
  { weight: 2, arbitrary: fc.constant<readonly number[]>([]) },
  { weight: 1, arbitrary: fc.array(fc.nat(MOST_OF_A_SAMPLE), { maxLength: 6 }) },
);
