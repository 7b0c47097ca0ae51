/** The state of one model call of a completion. */

import type { CallRules } from '../../engine/turn/call-permission.ts';
import type { Limits } from '../../ports/limits.ts';
import { type ChatDecoder, chatDecoder } from '../../protocol/chat-completions/decoder.ts';
import { type ChunkMemo, chunkMemo } from '../../protocol/chat-completions/fast-path/chunk-memo.ts';
import { weightOf } from '../../protocol/chat-completions/own-fields.ts';
import type { SeeEntry } from '../../protocol/chat-completions/tool-calls.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import type { GrownText } from '../../protocol/grown-text.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { CallLine } from './call-line.ts';
import { type CallEntry, entryText } from './completion/chunk.ts';
import type { ChatCall, Completion } from './completion/completion.ts';
import { fieldsOfCall, MessageFields } from './completion/message-fields.ts';

/** A chunk that waits until the owner of the call that it begins is known. */
export interface HeldChunk {
  readonly data: string;
  readonly chunk: JsonObject;
  readonly events: readonly ModelEvent[];
  /** The entries of calls in it. */
  readonly entries: readonly CallEntry[];
}

/** A call that is being written. */
export interface WrittenCall extends ChatCall {
  /**
   * UTF-8 bytes of the arguments; counted as they arrive, since counting a long text for each delta of it is too slow.
   */
  bytes: number;
}

/** What a round needs from its turn. */
export interface RoundRules {
  /** Whether the model may make calls that the client is not shown; if not, no chunk has to wait. */
  readonly hidesCalls: boolean;
  /** What the request allows the model to call. */
  readonly callRules: CallRules;
  /** Whether the client wants one JSON object, also from a model server that streams all the same. Default: false. */
  readonly wantsWhole?: boolean;
  readonly isOwned: (name: string) => boolean;
  /** A call id for calls that arrived without one. */
  readonly newCallId: () => string;
  readonly limits: Pick<Limits, 'outputBytes' | 'argumentBytes' | 'eventBytes'>;
}

/** The model call so far. */
export interface Round {
  readonly completion: Completion;
  readonly rules: RoundRules;
  readonly decoder: ChatDecoder;
  readonly memo: ChunkMemo;
  /** The entries of calls in the chunk that is read. */
  entries: CallEntry[];
  /** The order in which the client receives calls. */
  readonly line: CallLine;
  readonly calls: WrittenCall[];
  readonly callNumbers: Map<number, WrittenCall>;
  readonly callIds: Set<string>;
  /** How many of the calls the client has received in the model server's own chunks. */
  passed: number;
  held: HeldChunk[];
  /** Characters of the held chunks. */
  heldSize: number;
  /** Whether a call has begun whose owner is not known yet. */
  undecided: boolean;
  /** Whether chunks are rewritten, because the model server's own contain calls that are not the client's. */
  rewriting: boolean;
  /** The text of its answer. */
  readonly text: GrownText;
  /** Everything else in its message. */
  readonly fields: MessageFields;
  /** The extra fields of calls, by the decoder's numbers for them. */
  readonly callFields: Map<number, JsonObject>;
  usage: JsonObject | undefined;
  finishReason: string | undefined;
  /** Whether the model was truncated, so that its calls may be incomplete. */
  cutOff: boolean;
  /** Whether the model must call the tool that the request forces. */
  readonly isForced: boolean;
  /** Whether it has begun a call that it may make. */
  hasCall: boolean;
  done: boolean;
  /** The whole answer, if it was not streamed. */
  whole: JsonObject | undefined;
}

/** Before the model's first output. */
export function newRound(completion: Completion, rules: RoundRules, isForced = false): Round {
  const callFields = new Map<number, JsonObject>();
  const keepsFields = rules.hidesCalls || rules.wantsWhole === true;
  const seeEntry: SeeEntry = ({ call }, entry) => {
    round.entries.push({ call, entry, ...entryText(entry) });
    const fields = keepsFields ? fieldsOfCall(entry) : undefined;
    if (!fields) return;
    // Not by spreading, which takes quadratic time if a server adds them one by one.
    callFields.set(call, Object.assign(callFields.get(call) ?? {}, fields));
    // At once: a call may wait for its name or arguments for ever.
    completion.bytes += weightOf(fields) ?? 0;
  };
  const round: Round = {
    completion,
    rules,
    decoder: chatDecoder({ think: false, passes: true, seeEntry }),
    memo: chunkMemo(),
    entries: [],
    line: new CallLine(),
    calls: [],
    callNumbers: new Map(),
    callIds: new Set(),
    passed: 0,
    held: [],
    heldSize: 0,
    undecided: false,
    rewriting: false,
    text: { text: '', tail: '' },
    fields: new MessageFields(),
    callFields,
    usage: undefined,
    finishReason: undefined,
    cutOff: false,
    isForced,
    hasCall: false,
    done: false,
    whole: undefined,
  };
  return round;
}
