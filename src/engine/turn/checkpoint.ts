/** The state of a turn as another process continues it: the events that were kept, and what they do not hold. */

import type { StoredResponse } from '../../ports/store.ts';
import type { ToolOwner } from '../../ports/toolset.ts';
import type { FinishReason, IncompleteReason, TurnEvent, UpstreamFacts, Usage } from '../../protocol/events.ts';
import { originOfItem } from '../../protocol/ids.ts';
import type { FilePassage, Item, OutputItem, Part, WebResult } from '../../protocol/items.ts';
import { writtenKind } from '../../protocol/tool-calls/kinds.ts';
import { isOpenUpstreamSearch } from '../../protocol/tool-calls/web-search-call.ts';
import { SharedList, SharedMap } from './data/shared-list.ts';
import { FIELD_START } from './data/text-field.ts';
import type { RefusedCall } from './machine/call-permission.ts';
import { withFiles } from './machine/cited-files.ts';
import { withPages } from './machine/cited-pages.ts';
import {
  type OpenNativeItem,
  type OpenPart,
  type PendingToolCall,
  startState,
  type TurnPlan,
  type TurnState,
  type Writing,
} from './machine/state.ts';

/** A call without a result; its arguments are whole. */
type PendingRecord = Pick<PendingToolCall, 'index' | 'id' | 'callId' | 'name' | 'arguments' | 'input'> & {
  readonly approvalRequestId?: string;
  /** Closes its item where the tool is no longer offered. */
  readonly owner: ToolOwner;
};

/** What a state has besides its events; JSON. */
export interface Checkpoint {
  readonly round: number;
  readonly roundStart: number;
  readonly bytes: number;
  readonly items: number;
  readonly usage: Usage;
  readonly callUsage?: TurnState['callUsage'];
  readonly facts?: UpstreamFacts | undefined;
  readonly finish?: FinishReason | undefined;
  readonly stopped?: IncompleteReason | undefined;
  readonly pending: readonly PendingRecord[];
  /** The calls that the model may not make, of which it has not been told yet; absent for none. */
  readonly refused?: readonly RefusedCall[];
  /** The names of the deferred tools that the model has found; absent for none. */
  readonly found?: readonly string[];
  /** The end of the open text that may become the mark of a citation; absent for none. */
  readonly held?: string;
}

/** A response that another process began, as far as it is known. */
export interface ResumedResponse {
  /** In progress; its version is this process's epoch. */
  readonly stored: StoredResponse;
  /** Undefined if nothing was kept of the turn. */
  readonly checkpoint: Checkpoint | undefined;
  readonly events: readonly TurnEvent[];
  /** The number of the next event. */
  readonly next: number;
}

/** The checkpoint of a state in which no call is being written. */
export function turnCheckpoint(state: TurnState): Checkpoint {
  const { round, roundStart, bytes, items, usage, callUsage, facts, finish, stopped } = state;
  const pending = state.pending.values().map((call) => pendingRecord(state.plan, call));
  const found = state.found.size > 0 ? { found: state.found.values() } : {};
  const held = state.writing?.part?.held ? { held: state.writing.part.held } : {};
  const refused = state.refused.size > 0 ? { refused: state.refused.values() } : {};
  const own = { ...refused, ...found, ...held };
  return { round, roundStart, bytes, items, usage, callUsage, facts, finish, stopped, pending, ...own };
}

function pendingRecord({ ownedAs }: TurnPlan, call: PendingToolCall): PendingRecord {
  const { index, id, callId, name, arguments: text, input, approvalRequestId } = call;
  const approved = approvalRequestId === undefined ? {} : { approvalRequestId };
  const owner = { shownAs: ownedAs, ...call.owner };
  return { index, id, callId, name, arguments: text, input, owner, ...approved };
}

/** The state after these events, which begin with the turn's first. */
export function restoredState(
  plan: TurnPlan,
  { checkpoint, events, next }: Omit<ResumedResponse, 'stored'>,
): TurnState {
  if (!checkpoint) return startState(plan);
  const { pending, callUsage, facts, finish, stopped, refused = [], found = [], held = '', ...counted } = checkpoint;
  const written = new WrittenSoFar();
  for (const event of events) written.take(event);
  if (written.writing?.part) written.writing.part.held = held;
  const start = startState(plan);
  const calls = pending.map((record) => restoredCall(plan, record));
  return {
    ...start,
    ...counted,
    callUsage,
    facts,
    finish,
    stopped,
    started: events.length > 0,
    sequence: next,
    output: sharedList(written.output),
    writing: written.writing,
    pending: mapOf(calls, (call) => call.index),
    refused: numberedRefusals(refused),
    searches: mapOf(written.searches(), ({ search }) => search),
    natives: mapOf(written.natives(), ({ native }) => native),
    found: mapOf(found, (name) => name),
    pages: withPages(new SharedMap(), written.results()),
    files: withFiles(start.files, written.passages()),
    callIds: mapOf([...written.callIds(), ...calls.map(({ callId }) => callId)], (id) => id, true),
  };
}

function restoredCall(plan: TurnPlan, record: PendingRecord): PendingToolCall {
  const owner = plan.owners.get(record.name) ?? record.owner;
  return { ...record, toolCallIndex: record.index, owner, form: undefined, bytes: 0, reading: FIELD_START };
}

/** Collects the output from events. */
class WrittenSoFar {
  readonly output: OutputItem[] = [];
  writing: Writing | undefined;
  private readonly open = new Set<number>();

  take(event: TurnEvent): void {
    switch (event.type) {
      case 'item-start':
        this.output[event.index] = event.item;
        this.open.add(event.index);
        this.begin(event.index, event.item);
        return;
      case 'item-end':
        this.output[event.index] = event.item;
        this.open.delete(event.index);
        if (this.writing?.index === event.index) this.writing = undefined;
        return;
      case 'part-start':
        if (this.writing) this.writing.part = openPart(event.part, event.partIndex);
        return;
      case 'part-delta':
        this.grow(event);
        return;
      case 'annotation': {
        const part = this.writing?.part;
        if (part) part.annotations = part.annotations.added(event.annotation);
        return;
      }
      case 'part-end':
        if (!this.writing) return;
        this.writing.parts = this.writing.parts.added(event.part);
        this.writing.part = undefined;
        return;
      default:
    }
  }

  /** The searches of the model's own server that have not ended. */
  searches() {
    return this.output.flatMap((item, index) => (isOpenUpstreamSearch(item) ? [{ search: item.id, index, item }] : []));
  }

  /** Its other items that have not ended, under numbers that no further item has. */
  natives(): readonly OpenNativeItem[] {
    return this.output.flatMap((item, index) =>
      this.open.has(index) && originOfItem(item.id) !== undefined
        ? [{ native: -1 - index, index, item, bytes: 0 }]
        : [],
    );
  }

  /** What the model has received from this server's searches. */
  results(): readonly WebResult[] {
    return this.output.flatMap((item) => writtenKind(item)?.citable?.(item).pages ?? []);
  }

  /** The same of its searches in files. */
  passages(): readonly FilePassage[] {
    return this.output.flatMap((item) => writtenKind(item)?.citable?.(item).files ?? []);
  }

  callIds(): readonly string[] {
    return this.output.flatMap((item: Item) => (typeof item.call_id === 'string' ? [item.call_id] : []));
  }

  private begin(index: number, item: OutputItem): void {
    if (item.type !== 'message' && item.type !== 'reasoning') return;
    const phase = item.type === 'message' ? item.phase : undefined;
    this.writing = { kind: item.type, index, id: item.id, phase, parts: new SharedList(), part: undefined };
  }

  private grow({ text, logprobs }: Extract<TurnEvent, { type: 'part-delta' }>): void {
    const part = this.writing?.part;
    if (!part) return;
    part.text += text;
    if (logprobs === '') return;
    part.logprobs ??= { text: '', tail: '' };
    part.logprobs.text += (part.logprobs.text === '' ? '' : ',') + logprobs;
  }
}

function openPart({ type }: Part, index: number): OpenPart {
  return { type, index, text: '', tail: '', held: '', annotations: new SharedList(), logprobs: undefined };
}

function sharedList<Member>(members: readonly Member[]): SharedList<Member> {
  let list = new SharedList<Member>();
  for (const member of members) list = list.added(member);
  return list;
}

/** Under negative numbers: the model's own may come again. */
function numberedRefusals<Value>(values: readonly Value[]): SharedMap<number, Value> {
  let map = new SharedMap<number, Value>();
  for (const [at, value] of values.entries()) map = map.with(-1 - at, value);
  return map;
}

function mapOf<Key, Value>(values: readonly Value[], keyOf: (value: Value) => Key): SharedMap<Key, Value>;
function mapOf<Key>(keys: readonly Key[], keyOf: (key: Key) => Key, value: true): SharedMap<Key, true>;
function mapOf<Key, Value>(values: readonly Value[], keyOf: (value: Value) => Key, value?: true) {
  let map = new SharedMap<Key, Value | true>();
  for (const each of values) map = map.with(keyOf(each), value ?? each);
  return map;
}
