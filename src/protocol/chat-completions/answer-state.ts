/** What a Chat Completions server needs back of an answer beside its words and calls: collected, and read again. */
import { ApiError } from '../errors.ts';
import { isRecord, type JsonObject } from '../record.ts';
import { mergeInto, type OwnFields } from './merge.ts';
import { ReasoningDetails } from './reasoning-details.ts';
import { weightOf } from './weight.ts';

/**
 * Where reasoning stands in a message: in a field of this name, in parts of the content (`thinking`, as Mistral has it), or
 * between tags in its text.
 */
export type ReasoningField =
  | 'reasoning_content'
  | 'reasoning'
  | 'reasoning_text'
  | 'reasoning_details'
  | 'thinking'
  | 'think_tags';

/** The fields of a message that hold something opaque, each as it came. */
const MESSAGE_FIELDS = ['extra_content', 'reasoning_opaque'] as const;

/** What came with one call. */
export interface CallState {
  /** Its place among the calls of the answer, from 0, for calls that are known by another id here. */
  readonly at: number;
  readonly id: string;
  readonly name: string;
  readonly extra: JsonObject;
}

/** What one `reasoning-end` of a chat answer carries. */
export interface ChatState {
  /** Whether it is of an answer that had begun before it. */
  readonly late?: true;
  /** Where the answer's reasoning stood. */
  readonly field?: ReasoningField;
  readonly details?: readonly JsonObject[];
  readonly message?: JsonObject;
  readonly calls?: readonly CallState[];
}

/** The call that an extra came with; its id and name may be whole only later. */
export interface KnownCall {
  readonly call: number;
  readonly id: string;
  readonly name: string;
}

/** Characters of everything that one answer wants back. */
const MOST_STATE = 16 * 1024 * 1024;

/** Collects of one answer what was not told yet. */
export class AnswerState {
  private readonly details = new ReasoningDetails();
  private message: OwnFields | undefined = undefined;
  private readonly calls = new Map<KnownCall, OwnFields>();
  /** About how many characters of those two have come. */
  private weight = 0;

  takeDetails(list: readonly unknown[], isWhole: boolean): void {
    this.details.take(list, isWhole);
    this.bound();
  }

  takeMessage(delta: JsonObject): void {
    const found = MESSAGE_FIELDS.flatMap((name) => (isGiven(delta[name]) ? [[name, delta[name]]] : []));
    if (found.length === 0) return;
    const more: JsonObject = Object.fromEntries(found);
    const weight = weightOf(more);
    if (weight === undefined) return;
    this.message = mergeInto(this.message ?? {}, more, 'replace');
    this.weight += weight;
    this.bound();
  }

  takeCall(call: KnownCall, extra: unknown): void {
    if (!isRecord(extra) || !isGiven(extra)) return;
    const weight = weightOf(extra);
    if (weight === undefined) return;
    this.calls.set(call, mergeInto(this.calls.get(call) ?? {}, extra, 'replace'));
    this.weight += weight;
    this.bound();
  }

  /** All that was not told yet, once; undefined where there is nothing that its server alone can read. */
  pending(field: ReasoningField | undefined, isLate: boolean): ChatState | undefined {
    const hasDetails = this.details.isOpaque && this.details.entries.length > 0;
    if (!hasDetails && !this.message && this.calls.size === 0) return undefined;
    const state: ChatState = {
      ...(isLate ? { late: true } : {}),
      ...(field ? { field } : {}),
      ...(hasDetails ? { details: this.details.taken() } : {}),
      ...(this.message ? { message: this.message } : {}),
      ...(this.calls.size > 0 ? { calls: [...this.calls].map(callState) } : {}),
    };
    this.message = undefined;
    this.calls.clear();
    return state;
  }

  /** What was told counts on: the answer is bounded, not what waits. */
  private bound(): void {
    if (this.details.weight + this.weight <= MOST_STATE) return;
    throw new ApiError('output_too_large', 'The model wrote more than this server keeps for it.');
  }
}

function callState([{ call, id, name }, extra]: readonly [KnownCall, JsonObject]): CallState {
  return { at: call, id, name, extra };
}

function isGiven(value: unknown): boolean {
  if (isRecord(value)) return Object.keys(value).length > 0;
  return value !== undefined && value !== null && value !== '';
}

const FIELDS: ReadonlySet<unknown> = new Set<ReasoningField>([
  'reasoning_content',
  'reasoning',
  'reasoning_text',
  'reasoning_details',
  'thinking',
  'think_tags',
]);

/** The state of an item, if it is one of a chat answer: an upstream of several may have had it from another kind of server. */
export function chatStateIn(state: unknown): ChatState | undefined {
  if (!isRecord(state)) return undefined;
  const { late, field, details, message, calls } = state;
  const known = Array.isArray(details) || isRecord(message) || Array.isArray(calls);
  if (!known || (field !== undefined && !FIELDS.has(field))) return undefined;
  return {
    ...(late === true ? { late } : {}),
    // The casts: the field was looked up, and the rest was sealed as it is told.
    ...(field === undefined ? {} : { field: field as ReasoningField }),
    ...(Array.isArray(details) ? { details: details.filter(isRecord) } : {}),
    ...(isRecord(message) ? { message } : {}),
    ...(Array.isArray(calls) ? { calls: calls.filter(isRecord) as unknown as readonly CallState[] } : {}),
  };
}
