/** The opaque state of a Chat Completions answer that its server needs back besides text and calls: collected, and read again. */
import { ApiError } from '../errors.ts';
import { isRecord, type JsonObject } from '../record.ts';
import { jsonWeight, mergeInto, type OwnFields } from './own-fields.ts';
import { ReasoningDetails } from './reasoning-details.ts';
import { REASONING_FIELDS, type ReasoningField } from './reasoning-fields.ts';

/** The fields of a message that hold opaque state, each unchanged. */
const MESSAGE_FIELDS = ['extra_content', 'reasoning_opaque'] as const;

/** The extra fields of one call. */
interface CallState {
  /** Its index among the calls of the answer, from 0, for calls that have another id here. */
  readonly at: number;
  readonly id: string;
  readonly name: string;
  readonly extra: JsonObject;
}

/** The state that one `reasoning-end` of a chat answer carries. */
export interface ChatState {
  /** Whether it belongs to an answer that had begun before it. */
  readonly late?: true;
  /** Where the answer held its reasoning. */
  readonly field?: ReasoningField;
  readonly details?: readonly JsonObject[];
  readonly message?: JsonObject;
  readonly calls?: readonly CallState[];
}

/** The call that an extra field arrived with; its id and name may be complete only later. */
export interface KnownCall {
  readonly call: number;
  readonly id: string;
  readonly name: string;
}

/** Maximum characters of one answer's opaque state. */
const MAX_STATE_LENGTH = 16 * 1024 * 1024;

/** Collects the state of one answer that has not been emitted yet. */
export class AnswerState {
  private readonly details = new ReasoningDetails();
  private message: OwnFields | undefined = undefined;
  private readonly calls = new Map<KnownCall, OwnFields>();
  /** The approximate number of characters of those two. */
  private weight = 0;

  takeDetails(list: readonly unknown[], isWhole: boolean): void {
    this.details.take(list, isWhole);
    this.bound();
  }

  takeMessage(delta: JsonObject): void {
    const found = MESSAGE_FIELDS.flatMap((name) => (hasValue(delta[name]) ? [[name, delta[name]]] : []));
    if (found.length === 0) return;
    const more: JsonObject = Object.fromEntries(found);
    const weight = jsonWeight(more);
    if (weight === undefined) return;
    this.message = mergeInto(this.message ?? {}, more, 'replace');
    this.weight += weight;
    this.bound();
  }

  takeCall(call: KnownCall, extra: unknown): void {
    if (!isRecord(extra) || !hasValue(extra)) return;
    const weight = jsonWeight(extra);
    if (weight === undefined) return;
    this.calls.set(call, mergeInto(this.calls.get(call) ?? {}, extra, 'replace'));
    this.weight += weight;
    this.bound();
  }

  /** All state that has not been emitted yet, once; undefined if there is nothing that only its server can read. */
  pending(field: ReasoningField | undefined, isLate: boolean): ChatState | undefined {
    const hasDetails = this.details.isOpaque && this.details.entries.length > 0;
    if (!hasDetails && !this.message && this.calls.size === 0) return undefined;
    const state: ChatState = {
      ...(isLate ? { late: true } : {}),
      ...(field ? { field } : {}),
      ...(hasDetails ? { details: this.details.taken() } : {}),
      ...(this.message ? { message: this.message } : {}),
      ...(this.calls.size > 0
        ? { calls: [...this.calls].map(([{ call, id, name }, extra]) => ({ at: call, id, name, extra })) }
        : {}),
    };
    this.message = undefined;
    this.calls.clear();
    return state;
  }

  /** Emitted state still counts: the limit applies to the answer, not to what waits. */
  private bound(): void {
    if (this.details.weight + this.weight <= MAX_STATE_LENGTH) return;
    throw new ApiError('output_too_large', 'The model wrote more than this server keeps for it.');
  }
}

function hasValue(value: unknown): boolean {
  if (isRecord(value)) return Object.keys(value).length > 0;
  return value !== undefined && value !== null && value !== '';
}

const FIELDS: ReadonlySet<unknown> = new Set(REASONING_FIELDS);

/**
 * The state of an item, if it is from a chat answer: an upstream with several servers may have received it from another
 * kind of server.
 */
export function chatStateIn(state: unknown): ChatState | undefined {
  if (!isRecord(state)) return undefined;
  const { late, field, details, message, calls } = state;
  const isChatState = Array.isArray(details) || isRecord(message) || Array.isArray(calls);
  if (!isChatState || (field !== undefined && !FIELDS.has(field))) return undefined;
  return {
    ...(late === true ? { late } : {}),
    // The casts: the field was looked up, and the rest was sealed as it was emitted.
    ...(field === undefined ? {} : { field: field as ReasoningField }),
    ...(Array.isArray(details) ? { details: details.filter(isRecord) } : {}),
    ...(isRecord(message) ? { message } : {}),
    ...(Array.isArray(calls) ? { calls: calls.filter(isRecord) as unknown as readonly CallState[] } : {}),
  };
}
