/** The state of a turn as another process continues or ends it: the events that were stored, and what they do not hold. */

import type { StoredResponse } from '../../ports/store.ts';
import type { ToolOwner } from '../../ports/toolset.ts';
import type {
  FinishReason,
  IncompleteReason,
  TurnEnd,
  TurnError,
  TurnEvent,
  UpstreamFacts,
  Usage,
} from '../../protocol/events.ts';
import { originOfItem } from '../../protocol/ids.ts';
import type { Item, ItemStatus, OutputItem } from '../../protocol/items.ts';
import { isRecord, plainText } from '../../protocol/record.ts';
import type { ShownCall } from '../../protocol/tool-calls/kind.ts';
import { writtenKind } from '../../protocol/tool-calls/kinds.ts';
import { isOpenUpstreamSearch } from '../../protocol/tool-calls/web-search-call.ts';
import { SharedList, SharedMap } from './data/shared-list.ts';
import { FIELD_START } from './data/text-field.ts';
import type { RefusedCall } from './machine/call-permission.ts';
import { withFiles } from './machine/cited-files.ts';
import { withContainerFiles, withPages } from './machine/cited-pages.ts';
import { step } from './machine/machine.ts';
import {
  copyState,
  type Draft,
  finishDraft,
  type PendingToolCall,
  plainPlan,
  startState,
  type TurnPlan,
  type TurnState,
  type Writing,
} from './machine/state.ts';
import { closeItem, closeWriting } from './machine/write-text.ts';

/** A call without a result; its arguments are whole. */
type PendingRecord = Pick<PendingToolCall, 'index' | 'id' | 'callId' | 'name' | 'arguments' | 'input'> & {
  readonly approvalRequestId?: string;
  readonly fields?: Readonly<Record<string, unknown>>;
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

/** What is stored of a turn that another process began. */
interface StoredTurn {
  /** Undefined if nothing was kept of the turn. */
  readonly checkpoint: Checkpoint | undefined;
  readonly events: readonly TurnEvent[];
  /** The number of the next event. */
  readonly next: number;
}

/** A response that another process began, as far as it is known. */
export interface ResumedResponse extends StoredTurn {
  /** In progress; its version is this process's epoch. */
  readonly stored: StoredResponse;
}

/** The checkpoint of a state in which no call is being written. */
export function turnCheckpoint(state: TurnState): Checkpoint {
  const { plan, round, roundStart, bytes, items, usage, callUsage, facts, finish, stopped } = state;
  const pending = state.pending.values().map((call): PendingRecord => {
    const { index, id, callId, name, arguments: text, input, approvalRequestId, fields } = call;
    const approved = approvalRequestId === undefined ? {} : { approvalRequestId };
    const further = fields === undefined ? {} : { fields };
    const owner = { shownAs: plan.ownedAs, ...call.owner };
    return { index, id, callId, name, arguments: text, input, owner, ...approved, ...further };
  });
  const found = state.found.size > 0 ? { found: state.found.values() } : {};
  const held = state.writing?.part?.held ? { held: state.writing.part.held } : {};
  const refused = state.refused.size > 0 ? { refused: state.refused.values() } : {};
  const rare = { ...refused, ...found, ...held };
  return { round, roundStart, bytes, items, usage, callUsage, facts, finish, stopped, pending, ...rare };
}

/** The state after these events, which begin with the turn's first. */
export function restoredState(
  plan: TurnPlan,
  { checkpoint, events, next }: StoredTurn,
  { output, open, writings } = readOutput(events),
): TurnState {
  const start = startState(plan);
  if (!checkpoint) return start;
  const { pending, callUsage, facts, finish, stopped, refused = [], found = [], held = '', ...counted } = checkpoint;
  const writing = writings.at(-1);
  if (writing?.part) writing.part.held = held;
  const calls = pending.map((record): PendingToolCall => {
    const owner = plan.owners.get(record.name) ?? record.owner;
    return { ...record, toolCallIndex: record.index, owner, form: undefined, bytes: 0, reading: FIELD_START };
  });
  const callIds = output.map(({ call_id: callId }: Item) => callId).filter((id) => typeof id === 'string');
  const searches = output.flatMap((item, index) =>
    isOpenUpstreamSearch(item) ? [{ search: item.id, index, item }] : [],
  );
  // Under negative numbers, as are refused calls: the model's own may come again.
  const natives = output.flatMap((item, index) =>
    open.has(index) && originOfItem(item.id) !== undefined ? [{ native: -1 - index, index, item, bytes: 0 }] : [],
  );
  const citable = output.map((item) => writtenKind(item)?.citable?.(item));
  return {
    ...start,
    ...counted,
    callUsage,
    facts,
    finish,
    stopped,
    started: events.length > 0,
    sequence: next,
    output: SharedList.from(output),
    writing,
    pending: SharedMap.from(calls.map((call) => [call.index, call])),
    refused: SharedMap.from(refused.map((call, at) => [-1 - at, call])),
    searches: SharedMap.from(searches.map((search) => [search.search, search])),
    natives: SharedMap.from(natives.map((item) => [item.native, item])),
    found: SharedMap.from(found.map((name) => [name, name])),
    pages: withContainerFiles(
      withPages(
        start.pages,
        citable.flatMap((cited) => cited?.pages ?? []),
      ),
      citable.flatMap((cited) => cited?.written ?? []),
    ),
    files: withFiles(
      start.files,
      citable.flatMap((cited) => cited?.files ?? []),
    ),
    callIds: SharedMap.from([...callIds, ...calls.map(({ callId }) => callId)].map((id) => [id, true])),
  };
}

/**
 * The output after these events, the places of the items that have not ended, with the arguments that calls have so far, and the items that
 * are being written: several agents may write at the same time.
 */
function readOutput(events: readonly TurnEvent[]) {
  const output: OutputItem[] = [];
  const open = new Map<number, string>();
  const writings = new Map<number, Writing>();
  for (const event of events) {
    const writing = 'index' in event ? writings.get(event.index) : undefined;
    const part = writing?.part;
    switch (event.type) {
      case 'item-start': {
        const { index, item } = event;
        output[index] = item;
        open.set(index, '');
        if (item.type !== 'message' && item.type !== 'reasoning') break;
        const phase = item.type === 'message' ? item.phase : undefined;
        writings.set(index, { kind: item.type, index, id: item.id, phase, parts: new SharedList(), part: undefined });
        break;
      }
      case 'item-end':
        output[event.index] = event.item;
        open.delete(event.index);
        writings.delete(event.index);
        break;
      case 'arguments-delta':
        open.set(event.index, `${open.get(event.index) ?? ''}${event.text}`);
        break;
      case 'part-start': {
        const { type } = event.part;
        const nothing = { text: '', tail: '', held: '', annotations: new SharedList<never>(), logprobs: undefined };
        if (writing) writing.part = { type, index: event.partIndex, ...nothing };
        break;
      }
      case 'part-delta':
        if (!part) break;
        part.text += event.text;
        if (event.logprobs === '') break;
        part.logprobs ??= { text: '', tail: '' };
        part.logprobs.text += (part.logprobs.text === '' ? '' : ',') + event.logprobs;
        break;
      case 'annotation':
        if (part) part.annotations = part.annotations.added(event.annotation);
        break;
      case 'part-end':
        if (!writing) break;
        writing.parts = writing.parts.added(event.part);
        writing.part = undefined;
        break;
      default:
    }
  }
  return { output, open, writings: [...writings.values()] };
}

/**
 * The events that end the stream of a turn whose process could not: the turn fails, and what was being written is incomplete. The last
 * event is its `turn-end`, with what is known of it beside the events.
 */
export function failedEnd(
  turn: StoredTurn,
  error: TurnError,
  facts: Partial<Pick<TurnEnd, 'usage' | 'upstream'>> = {},
): readonly TurnEvent[] {
  const read = readOutput(turn.events);
  const { output, open, writings } = read;
  const draft = copyState(restoredState(closingPlan(turn), turn, read));
  // Of the calls of several agents no checkpoint says which run: their events do.
  for (const [index, text] of open) {
    const item = output[index];
    const isOther = !item || originOfItem(item.id) !== undefined || isOpenUpstreamSearch(item);
    if (isOther || draft.pending.has(index)) continue;
    const kind = writtenKind(item);
    if (kind) closeItem(draft, index, Object.assign({}, item, kind.item(cutOffCall(item, text), 'incomplete')));
  }
  closeWritings(draft, writings, 'incomplete');
  const { events } = draft;
  const [, end] = step(finishDraft(draft), [{ type: 'fail', error }]);
  return [...events, ...end]
    .map((event) => (event.type === 'turn-end' ? { ...event, ...facts } : event))
    .map(ofAgents(output));
}

/** A call that has not ended, with what was written of it. */
function cutOffCall(item: Item, text: string): ShownCall {
  const { id, call_id: callId, name, action, server_label: server, container_id: container } = item;
  const { approval_request_id: approvalRequestId = null } = item;
  const owner = { server, name: name ?? action, container };
  // The cast: a call has these fields, or lacks them.
  return { id, callId, clientTool: { name }, arguments: text, input: text, owner, approvalRequestId } as ShownCall;
}

/** Gives events, and the items in them, the agents of the items that have begun. */
function ofAgents(begun: readonly Item[]): (event: TurnEvent) => TurnEvent {
  const named = (item: OutputItem, index: number): OutputItem =>
    begun[index]?.agent === undefined ? item : Object.assign({}, item, { agent: begun[index].agent });
  return (event) => {
    if (event.type === 'turn-end') return { ...event, output: event.output.map(named) };
    if (!('index' in event)) return event;
    const agent = begun[event.index]?.agent;
    const shown = event.type === 'item-end' ? { ...event, item: named(event.item, event.index) } : event;
    return isRecord(agent) ? { ...shown, agent: plainText(agent.agent_name) } : shown;
  };
}

/** The same of a turn that ended as it was stored; what was being written and called is complete, as it is there. */
export function storedEnd(turn: StoredTurn, end: Omit<TurnEnd, 'type' | 'sequence'>): readonly TurnEvent[] {
  const read = readOutput(turn.events);
  const draft = copyState(restoredState(closingPlan(turn), turn, read));
  closeWritings(draft, read.writings, 'completed');
  const isWritten = new Set(read.writings.map(({ index }) => index));
  for (const index of read.open.keys()) {
    const item = end.output[index] ?? read.output[index];
    if (item && !isWritten.has(index)) closeItem(draft, index, item);
  }
  const ended = draft.events.map((event) =>
    event.type === 'item-end' ? { ...event, item: end.output[event.index] ?? event.item } : event,
  );
  return [...ended, { type: 'turn-end', sequence: draft.sequence, ...end } as const].map(ofAgents(read.output));
}

/** Several agents may have been writing. */
function closeWritings(draft: Draft, writings: readonly Writing[], status: ItemStatus): void {
  for (const writing of writings) {
    draft.writing = writing;
    closeWriting(draft, status);
  }
}

/** Enough of a plan to close what is open: nothing more is written, and nothing is run. */
function closingPlan({ events }: StoredTurn): TurnPlan {
  const hasRawReasoning = events.some((event) => event.type === 'part-start' && event.part.type === 'reasoning_text');
  const limits = { outputBytes: Number.POSITIVE_INFINITY, argumentBytes: Number.POSITIVE_INFINITY };
  return plainPlan(limits, hasRawReasoning ? 'reasoning_text' : 'summary_text', '');
}
