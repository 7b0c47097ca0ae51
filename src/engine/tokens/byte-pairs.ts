/** Counts tokens by byte pairs, as `js-tiktoken` does, but without a text for each try, which made its time cubic in the length of a word. */

/** The data of an encoding in `js-tiktoken`. */
export interface Ranks {
  /** The pattern that splits a text before merging. */
  readonly pat_str: string;
  /** Lines of a name, the rank of the first token, and tokens in base64. */
  readonly bpe_ranks: string;
}

/** Tokens of a text. */
export type Count = (text: string) => number;

/** Tokens by their bytes, one character for each byte. */
type TokenRanks = ReadonlyMap<string, number>;

/** The counter of an encoding. Throws if the value is not one. */
export function bytePairCounter({ pat_str: pattern, bpe_ranks: lines }: Ranks): Count {
  const ranks = parseRanks(lines);
  // Every single byte must be a token: otherwise some texts would have none.
  if (BYTES.some((byte) => !ranks.has(byte))) throw new TypeError('Not the ranks of an encoding.');
  const words = new RegExp(pattern, 'ug');
  return (text) => {
    let tokens = 0;
    for (const [word] of text.matchAll(words)) {
      const bytes = BEYOND_ASCII.test(word) ? Buffer.from(word).toString('latin1') : word;
      tokens += countPairs(bytes, ranks);
    }
    return tokens;
  };
}

const BEYOND_ASCII = /[^\0-\x7f]/;
const BYTES = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte));

function parseRanks(lines: string): TokenRanks {
  const ranks = new Map<string, number>();
  for (const line of lines.split('\n')) {
    const [, first, ...tokens] = line.split(' ');
    for (const [index, token] of tokens.entries())
      ranks.set(Buffer.from(token, 'base64').toString('latin1'), Number(first) + index);
  }
  return ranks;
}

/** Merges the pair of the lowest rank until none is left. `pairs[n]` is the rank of the parts n and n + 1 together. */
function countPairs(bytes: string, ranks: TokenRanks): number {
  if (ranks.has(bytes)) return 1;
  const starts = Array.from({ length: bytes.length + 1 }, (_, index) => index);
  const rankAt = (part: number) =>
    part + 2 < starts.length ? (ranks.get(bytes.slice(starts[part], starts[part + 2])) ?? NONE) : NONE;
  const pairs = starts.slice(0, -1).map((_, part) => rankAt(part));
  for (;;) {
    const part = lowestRank(pairs);
    if (part < 0) return pairs.length;
    starts.splice(part + 1, 1);
    pairs.splice(part + 1, 1);
    pairs[part] = rankAt(part);
    if (part > 0) pairs[part - 1] = rankAt(part - 1);
  }
}

const NONE = Number.POSITIVE_INFINITY;

function lowestRank(pairs: readonly number[]): number {
  let place = -1;
  let lowest = NONE;
  for (let part = 0; part < pairs.length; part += 1) {
    // The cast: the part is below the length.
    const rank = pairs[part] as number;
    if (rank >= lowest) continue;
    place = part;
    lowest = rank;
  }
  return place;
}
