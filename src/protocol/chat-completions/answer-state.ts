/** The opaque state of a Chat Completions answer that its server needs back besides text and calls: collected, and read again. */
import { ApiError } from '../errors.ts';
import { isRecord, type JsonObject, recordsIn } from '../record.ts';
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
  /** The `reasoning_details`, the `thinking_blocks`, and the parts of the content that hold reasoning. */
  readonly details?: readonly JsonObject[];
  readonly blocks?: readonly JsonObject[];
  readonly parts?: readonly JsonObject[];
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
  private readonly blocks = new ReasoningDetails();
  private readonly summaries = new ReasoningDetails();
  /** The parts of the content whose summaries these are. */
  private parts: JsonObject[] = [];
  private message: OwnFields | undefined = undefined;
  private readonly calls = new Map<KnownCall, OwnFields>();
  /** The approximate number of characters of the last two. */
  private weight = 0;

  takeDetails(list: readonly unknown[], isWhole: boolean): void {
    this.details.take(list, isWhole);
    this.bound();
  }

  takeBlocks(list: readonly unknown[], isWhole: boolean): void {
    this.blocks.take(list, isWhole);
    this.bound();
  }

  /** Takes a part of the content with a summary; one in which no thought begins continues the last one. */
  takePart(part: JsonObject): void {
    const summary = this.summaries.take(recordsIn(part.summary), false);
    if (summary.length > 0) this.parts.push({ ...part, summary });
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
    const hasBlocks = this.blocks.isOpaque && this.blocks.entries.length > 0;
    const hasParts = this.summaries.isOpaque && this.parts.length > 0;
    if (!hasDetails && !hasBlocks && !hasParts && !this.message && this.calls.size === 0) return undefined;
    const state: ChatState = {
      ...(isLate ? { late: true } : {}),
      ...(field ? { field } : {}),
      ...(hasDetails ? { details: this.details.taken() } : {}),
      ...(hasBlocks ? { blocks: this.blocks.taken() } : {}),
      ...(hasParts ? { parts: this.parts } : {}),
      ...(this.message ? { message: this.message } : {}),
      ...(this.calls.size > 0
        ? { calls: [...this.calls].map(([{ call, id, name }, extra]) => ({ at: call, id, name, extra })) }
        : {}),
    };
    if (hasParts) {
      this.parts = [];
      this.summaries.taken();
    }
    this.message = undefined;
    this.calls.clear();
    return state;
  }

  /** Emitted state still counts: the limit applies to the answer, not to what waits. */
  private bound(): void {
    const { details, blocks, summaries, weight } = this;
    if (details.weight + blocks.weight + summaries.weight + weight <= MAX_STATE_LENGTH) return;
    throw new ApiError('output_too_large', 'The model wrote more than this server keeps for it.');
  }
}

function hasValue(value: unknown): boolean {
  if (isRecord(value)) return Object.keys(value).length > 0;
  return value !== undefined && value !== null && value !== '';
}

/** The lists of a state. */
const LISTS = ['details', 'blocks', 'parts'] as const;

const FIELDS: ReadonlySet<unknown> = new Set(REASONING_FIELDS);

/**
 * The state of an item, if it is from a chat answer: an upstream with several servers may have received it from another
 * kind of server.
 */
export function chatStateIn(state: unknown): ChatState | undefined {
  if (!isRecord(state)) return undefined;
  const { late, field, message, calls } = state;
  const lists = LISTS.filter((name) => Array.isArray(state[name]));
  const isChatState = lists.length > 0 || isRecord(message) || Array.isArray(calls);
  if (!isChatState || (field !== undefined && !FIELDS.has(field))) return undefined;
  return {
    ...(late === true ? { late } : {}),
    // The casts: the field was looked up, and the rest was sealed as it was emitted.
    ...(field === undefined ? {} : { field: field as ReasoningField }),
    ...Object.fromEntries(lists.map((name) => [name, recordsIn(state[name])])),
    ...(isRecord(message) ? { message } : {}),
    ...(Array.isArray(calls) ? { calls: calls.filter(isRecord) as unknown as readonly CallState[] } : {}),
  };
}
