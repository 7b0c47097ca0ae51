/** Masks many literals in one pass over a text, in linear time for any literals and text. */

const MASK = '***';

/**
 * Returns a function that masks every occurrence of every literal; overlapping occurrences share a mask. Its time is
 * linear in the text for any literals: one pattern of them all would try each literal at each character. The tables,
 * some 14 bytes per character of the literals, are built when they are first needed.
 */
export function literalMask(literals: ReadonlySet<string>): (text: string) => string {
  if (literals.size === 0) return (text) => text;
  let finder: LiteralFinder | undefined;
  return (text) => {
    finder ??= new LiteralFinder([...literals]);
    const pieces: string[] = [];
    let from = 0;
    for (const { start, end } of finder.spans(text)) {
      pieces.push(text.slice(from, start), MASK);
      from = end;
    }
    pieces.push(text.slice(from));
    return pieces.join('');
  };
}

/** A range of a text, its end excluded. */
interface Span {
  start: number;
  readonly end: number;
}

const ROOT = 0;

/**
 * The automaton of Aho and Corasick, as tables. A node is a prefix of some literal; nodes are numbered level by level,
 * so that the children of one node are adjacent, in the order of their characters, and those of the next node follow.
 */
class LiteralFinder {
  /** The character that leads to a node. */
  private readonly units: Uint16Array;
  /** The index of a node's first child; one more entry ends the children of the last node. */
  private readonly firstChild: Int32Array;
  /** The node of the longest proper suffix that is also a prefix of a literal. */
  private readonly suffix: Int32Array;
  /** The length of the longest literal that a node's prefix ends with; 0 if there is none. */
  private readonly matched: Int32Array;

  constructor(literals: readonly string[]) {
    const size = literals.reduce((sum, { length }) => sum + length, 1);
    this.units = new Uint16Array(size);
    this.firstChild = new Int32Array(size + 1);
    this.suffix = new Int32Array(size);
    this.matched = new Int32Array(size);
    this.grow(literals.toSorted((one, other) => (one < other ? -1 : 1)));
  }

  /** The occurrences in order; overlapping ones are merged. */
  spans(text: string): readonly Span[] {
    const spans: Span[] = [];
    let node = ROOT;
    for (let index = 0; index < text.length; index += 1) {
      node = this.next(node, text.charCodeAt(index));
      // The cast: every node has an entry.
      const length = this.matched[node] as number;
      if (length > 0) {
        // Spans are found in the order of their ends.
        const span = { start: index + 1 - length, end: index + 1 };
        for (let last = spans.at(-1); last && last.end > span.start; last = spans.at(-1)) {
          span.start = Math.min(span.start, last.start);
          spans.pop();
        }
        spans.push(span);
      }
    }
    return spans;
  }

  /** Level by level; a node is the range of the sorted literals that begin with its prefix. */
  private grow(sorted: readonly string[]): void {
    let nodes = 1;
    let level = [{ node: ROOT, from: 0, to: sorted.length }];
    for (let depth = 0; level.length > 0; depth += 1) {
      const below: typeof level = [];
      for (const { node, from, to } of level) {
        this.firstChild[node] = nodes;
        for (const range of rangesAt(sorted, from, to, depth)) {
          this.addChild(node, nodes, sorted[range.from] as string, depth);
          below.push({ node: nodes, ...range });
          nodes += 1;
        }
        this.firstChild[node + 1] = nodes;
      }
      level = below;
    }
  }

  private addChild(parent: number, child: number, literal: string, depth: number): void {
    const unit = literal.charCodeAt(depth);
    this.units[child] = unit;
    const suffix = depth === 0 ? ROOT : this.next(this.suffix[parent] as number, unit);
    this.suffix[child] = suffix;
    // The shortest literal of a range comes first, so a literal that ends here is this one.
    this.matched[child] = literal.length === depth + 1 ? depth + 1 : (this.matched[suffix] as number);
  }

  /** The longest prefix of a literal that the text ends with after one more character. */
  private next(node: number, unit: number): number {
    for (let at = node; ; at = this.suffix[at] as number) {
      const child = this.child(at, unit);
      if (child !== ROOT || at === ROOT) return child;
    }
  }

  /** Binary search; returns `ROOT`, which is never a child, if there is none. */
  private child(node: number, unit: number): number {
    const end = this.firstChild[node + 1] as number;
    let low = this.firstChild[node] as number;
    let high = end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.units[middle] as number) < unit) low = middle + 1;
      else high = middle;
    }
    return low < end && this.units[low] === unit ? low : ROOT;
  }
}

/** The literals of a range that are longer than this, by their character at this position. */
function rangesAt(sorted: readonly string[], from: number, to: number, depth: number) {
  const ranges: { from: number; to: number }[] = [];
  let last = -1;
  for (let index = from; index < to; index += 1) {
    const literal = sorted[index] as string;
    if (literal.length === depth) continue;
    const unit = literal.charCodeAt(depth);
    const range = ranges.at(-1);
    if (range && unit === last) range.to = index + 1;
    else ranges.push({ from: index, to: index + 1 });
    last = unit;
  }
  return ranges;
}
