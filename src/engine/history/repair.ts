/** Repairs of a conversation before a model server refuses it, for both APIs. */

import { ApiError, type ErrorCode } from '../../protocol/errors.ts';
import { jsonIn } from '../../protocol/json/json-text.ts';
import { isRecord } from '../../protocol/record.ts';

/** One fault of a conversation. */
export interface Repair {
  /** The kind of fault. */
  readonly code: RepairCode;
  /** The fault's index in the original list, from 0. */
  readonly index: number;
  /** The same as a path, such as `messages[3]`. */
  readonly param: string;
  /** What was wrong, in one English sentence. */
  readonly message: string;
}

/**
 * The possible faults, and the error for each if nothing is repaired; undefined for changes that servers only prefer.
 */
const CODES = {
  not_a_message: 'invalid_type',
  empty_message: 'invalid_value',
  empty_name: 'invalid_value',
  bad_arguments: 'invalid_value',
  missing_id: 'missing_required_parameter',
  duplicate_output: 'invalid_value',
  orphan_output: 'tool_call_not_found',
  misplaced_output: 'invalid_value',
  missing_output: 'tool_output_missing',
  split_message: undefined,
} as const satisfies Record<string, ErrorCode | undefined>;

/** A kind of repair. */
export type RepairCode = keyof typeof CODES;

/** A conversation and its repairs; the same list as given if there were none. */
export interface Repaired<Entry> {
  readonly list: readonly Entry[];
  /** The original index of each entry; -1 for one that was filled in. */
  readonly places: readonly number[];
  readonly repairs: readonly Repair[];
}

/** Records a repair at an index of the list. */
export type Found = (code: RepairCode, index: number, message: string) => void;

/**
 * A list of repairs under construction, returned in the order of the list; `field` is the body's, such as `messages`.
 */
export function repairLog(field: string): { readonly repairs: () => readonly Repair[]; readonly found: Found } {
  const repairs: Repair[] = [];
  const found: Found = (code, index, message) => repairs.push({ code, index, param: `${field}[${index}]`, message });
  return { repairs: () => repairs.toSorted((one, other) => one.index - other.index), found };
}

/** Throws `ApiError` for the first fault that a model server would refuse. */
export function rejectFirst(repairs: readonly Repair[]): void {
  for (const { code, param, message } of repairs) {
    const error = CODES[code];
    if (error) throw new ApiError(error, `Invalid '${param}': ${message}`, { param });
  }
}

/** Replaces a missing result. */
export const NO_OUTPUT = '(no output was recorded)';

/** The arguments of a call as every server accepts them: the text of a JSON object. */
export function argumentText(value: unknown, bad: () => void): string {
  if (typeof value === 'string' && isRecord(jsonIn(value))) return value;
  bad();
  return isRecord(value) ? JSON.stringify(value) : '{}';
}
