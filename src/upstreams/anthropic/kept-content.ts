/** Keeps the content of a message in the form the API needs back, for a turn that pauses and continues. */

import { type GrownText, grow, wholeText } from '../../protocol/grown-text.ts';
import { exactObjectIn } from '../../protocol/json/whole-numbers.ts';
import { isRecord, type JsonObject, plainText } from '../../protocol/record.ts';
import { isThought } from './messages.ts';
import type { Block } from './parts.ts';

/** A block as received: its start, and the deltas added to it. */
interface KeptBlock {
  readonly start: JsonObject;
  readonly text: GrownText;
  signature: string;
  readonly json: GrownText;
  readonly citations: unknown[];
}

/** The blocks of all messages of a turn so far, up to a limit in UTF-16 units. */
export class KeptContent {
  private kept: KeptBlock[] = [];
  private readonly open = new Map<unknown, KeptBlock>();
  private readonly limit: number;
  private size = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  start(index: unknown, block: unknown): void {
    if (!isRecord(block) || !this.hasRoom(JSON.stringify(block).length)) return;
    const kept: KeptBlock = {
      start: block,
      text: { text: plainText(block.text ?? block.thinking), tail: '' },
      signature: plainText(block.signature),
      json: { text: '', tail: '' },
      citations: Array.isArray(block.citations) ? [...block.citations] : [],
    };
    this.kept.push(kept);
    this.open.set(index, kept);
  }

  add(index: unknown, delta: unknown): void {
    const kept = this.open.get(index);
    if (!kept || !isRecord(delta)) return;
    const text = plainText(delta.text ?? delta.thinking);
    const signature = plainText(delta.signature);
    const json = plainText(delta.partial_json);
    const cited = delta.citation === undefined ? 0 : JSON.stringify(delta.citation).length;
    if (!this.hasRoom(text.length + signature.length + json.length + cited)) return;
    grow(kept.text, text);
    kept.signature += signature;
    grow(kept.json, json);
    if (delta.citation !== undefined) kept.citations.push(delta.citation);
  }

  /** Called before another message, whose block indexes start again at 0. */
  endMessage(): void {
    this.open.clear();
  }

  /** The content to send back; undefined if the API would refuse it or it exceeds the limit. */
  content(): readonly Block[] | undefined {
    // Omits blocks that the API emits but refuses: empty texts and unsigned thoughts.
    const blocks = this.kept.flatMap(({ start, signature, citations, ...grown }): readonly Block[] => {
      const [text, json] = [wholeText(grown.text), wholeText(grown.json)];
      const type = String(start.type);
      if (type === 'thinking') return signature ? [{ type, thinking: text, signature }] : [];
      if (type !== 'text')
        return [json === '' ? { ...start, type } : { ...start, type, input: exactObjectIn(json) ?? {} }];
      if (text.trim() === '') return [];
      return [citations.length > 0 ? { type, text, citations } : { type, text }];
    });
    const last = blocks.at(-1);
    // A tool call whose result only the client has.
    if (this.size > this.limit || !last || isThought(last) || blocks.some(({ type }) => type === 'tool_use'))
      return undefined;
    // The API refuses a last text that ends in white space.
    return last.type === 'text' ? [...blocks.slice(0, -1), { ...last, text: plainText(last.text).trimEnd() }] : blocks;
  }

  private hasRoom(more: number): boolean {
    this.size += more;
    if (this.size <= this.limit) return true;
    this.kept = [];
    this.open.clear();
    return false;
  }
}
