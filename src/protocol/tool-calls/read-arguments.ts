/** Reads the arguments of a call whose item shows them in fields of its own: in whatever form the model wrote them. */
import { isRecord } from '../record.ts';

/** The texts of a list, or the one text. */
export function textsIn(value: unknown): readonly string[] {
  return [value].flat().filter((each) => typeof each === 'string');
}

/** The number; null if it is none that a client could wait or count with. */
export function positiveIn(value: unknown): number | null {
  return typeof value === 'number' && value > 0 && Number.isFinite(value) ? value : null;
}

/** The pairs of texts. */
export function textPairsIn(value: unknown): Readonly<Record<string, string>> {
  if (!isRecord(value)) return {};
  // The cast: only texts are left.
  return Object.fromEntries(Object.entries(value).filter(([, text]) => typeof text === 'string')) as Record<
    string,
    string
  >;
}
