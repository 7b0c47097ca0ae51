/** The values of one request that the model receives as placeholders, and that are restored in the answer. */
import type { GuardFinding, GuardScan } from '../../../ports/guard.ts';

/** Kept in memory for one request; neither stored nor logged. */
export class Placeholders {
  private readonly names = new Map<string, string>();
  private readonly values = new Map<string, string>();
  private readonly counts = new Map<string, number>();
  /** Matches every beginning of a placeholder, including `[` alone. */
  private readonly beginnings = new Set<string>();

  get isEmpty(): boolean {
    return this.values.size === 0;
  }

  /** The placeholder of the value, the same each time. */
  of(rule: string, value: string): string {
    const key = `${rule} ${value}`;
    const known = this.names.get(key);
    if (known !== undefined) return known;
    const number = (this.counts.get(rule) ?? 0) + 1;
    const name = `[${rule}_${number}]`;
    this.counts.set(rule, number);
    this.names.set(key, name);
    this.values.set(name, value);
    for (let end = 1; end < name.length; end += 1) this.beginnings.add(name.slice(0, end));
    return name;
  }

  /** Finds placeholders, including incomplete ones at the end; has the form of a guard's `scan`. */
  scan(text: string, from: number, isEnd: boolean): GuardScan {
    const findings: GuardFinding[] = [];
    let settled = text.length;
    for (let start = text.indexOf('[', from); start >= 0; start = text.indexOf('[', start + 1)) {
      const end = this.endOf(text, start);
      const name = text.slice(start, end);
      const value = this.values.get(name);
      if (value !== undefined) findings.push({ start, end, rule: 'restored', text: value });
      else if (!isEnd && end === text.length && this.beginnings.has(name)) settled = start;
    }
    return { findings, settled };
  }

  /** The length of the placeholder that begins here. */
  private endOf(text: string, start: number): number {
    let end = start + 1;
    while (end < text.length && this.beginnings.has(text.slice(start, end)) && text[end] !== ']') end += 1;
    const isClosed = text[end] === ']' && this.beginnings.has(text.slice(start, end));
    return isClosed ? end + 1 : end;
  }
}
