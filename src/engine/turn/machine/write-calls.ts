/** Writes tool calls: their arguments, and the results of server-run tools. */

import type { ToolOwner } from '../../../ports/toolset.ts';
import type { ApprovedCall, CallRefusal, ResumedProgram, TurnInput } from '../../../protocol/events.ts';
import type {
  InnerCall,
  ItemStatus,
  ListedTool,
  McpApprovalRequestItem,
  ToolCallResult,
} from '../../../protocol/items.ts';
import { objectIn } from '../../../protocol/json/json-text.ts';
import type { ItemEvent, WrittenToolCallKind } from '../../../protocol/tool-calls/kind.ts';
import { programCaller } from '../../../protocol/tool-calls/program-call.ts';
import { INTERNAL_ERROR, protocolError } from '../../../protocol/tool-calls/results/call-error.ts';
import { SharedMap } from '../data/shared-list.ts';
import { FIELD_START, readField } from '../data/text-field.ts';
import { callItem, clientTool, finishedItem, presentedAs } from './call-items.ts';
import { callRefusal, type RefusedCall } from './call-permission.ts';
import { withFiles } from './cited-files.ts';
import { withContainerFiles, withPages } from './cited-pages.ts';
import {
  type Draft,
  isCutOff,
  type OpenToolCall,
  type PendingToolCall,
  type ToolCallAwaitingApproval,
  type WaitingCall,
} from './state.ts';
import { growWaiting, waitingCall } from './waiting-output.ts';
import { announce, closeItem, closeWriting, countItem, nextItemId } from './write-text.ts';

const NOTHING: SharedMap<number, never> = new SharedMap();

type CallDelta = Extract<TurnInput, { type: 'tool-call-delta' }>;

/**
 * Adds arguments to the call, which begins if it is new; returns the call if it is allowed. One that begins while
 * another one is open waits, and what comes for one that has ended is left out: its arguments were whole.
 */
export function writeCall(
  draft: Draft,
  delta: CallDelta,
): OpenToolCall | WaitingCall | ToolCallAwaitingApproval | undefined {
  const { openCall } = draft;
  const { call, arguments: text } = delta;
  if (openCall?.toolCallIndex === call) return writeOpen(draft, openCall, delta);
  const refused = draft.refused.get(call);
  if (refused) return growRefused(draft, refused, delta);
  if (draft.closedCalls.has(call)) {
    draft.bytes += Buffer.byteLength(text);
    return undefined;
  }
  const awaiting = draft.awaitingApproval.get(call);
  if (!awaiting) return growWaiting(draft, delta) ?? beginCall(draft, delta);
  const bytes = Buffer.byteLength(text);
  draft.bytes += bytes;
  const grown = { ...awaiting, arguments: awaiting.arguments + text, bytes: awaiting.bytes + bytes };
  draft.awaitingApproval = draft.awaitingApproval.with(call, grown);
  return grown;
}

function writeOpen(draft: Draft, open: OpenToolCall, { arguments: text }: CallDelta): OpenToolCall {
  if (text === '') return open;
  const bytes = Buffer.byteLength(text);
  draft.bytes += bytes;
  open.bytes += bytes;
  return writeArguments(draft, open, text);
}

/** Shows the call, unless it must wait: for the end of the open one, or for the user's approval. */
function beginCall(draft: Draft, delta: CallDelta): OpenToolCall | WaitingCall | ToolCallAwaitingApproval | undefined {
  const { call, id = '', name = '', arguments: text } = delta;
  const why = callRefusal(draft.plan, name, draft);
  if (why) return refuseCall(draft, delta, name, why);
  draft.hasCall = true;
  const owner = draft.plan.owners.get(name);
  if (owner?.needsApproval) {
    const bytes = Buffer.byteLength(text);
    const awaiting: ToolCallAwaitingApproval = { toolCallIndex: call, owner, arguments: text, bytes };
    draft.awaitingApproval = draft.awaitingApproval.with(call, awaiting);
    draft.bytes += Buffer.byteLength(name) + Buffer.byteLength(id) + bytes;
    countItem(draft);
    return awaiting;
  }
  if (draft.openCall) return waitingCall(draft, delta);
  draft.openCall = showCall(draft, call, name, delta);
  return writeOpen(draft, draft.openCall, delta);
}

/** Announces the call. */
export function showCall(
  draft: Draft,
  number: number,
  name: string,
  { id: upstreamId, fields }: Pick<CallDelta, 'id' | 'fields'> = {},
  approvalRequestId?: string,
): OpenToolCall {
  closeWriting(draft, 'completed');
  const index = draft.output.size;
  const owner = draft.plan.owners.get(name);
  const form = draft.plan.forms?.get(name);
  const { idPrefix, hasOwnCallId } = presentedAs(draft.plan, { owner, form });
  const callId = unusedCallId(draft, hasOwnCallId ? undefined : upstreamId, index);
  const id = nextItemId(draft, idPrefix);
  const nothing = { arguments: '', bytes: 0, input: '', reading: FIELD_START };
  const approved = approvalRequestId === undefined ? {} : { approvalRequestId };
  const further = fields === undefined ? {} : { fields };
  const about = { ...approved, ...further };
  const call: OpenToolCall = { toolCallIndex: number, index, id, callId, name, owner, form, ...nothing, ...about };
  draft.callIds = draft.callIds.with(callId, true);
  announce(draft, callItem(draft.plan, call, 'in_progress'));
  emitState(draft, call, 'opened');
  draft.bytes += Buffer.byteLength(name) + Buffer.byteLength(callId);
  if (fields) draft.bytes += Buffer.byteLength(JSON.stringify(fields));
  return call;
}

/** The single argument that such a call is shown with; undefined if it is shown with all of them. */
function inputField({ plan }: Draft, call: OpenToolCall): string | undefined {
  const { field } = presentedAs(plan, call);
  return field === 'arguments' ? undefined : field;
}

/**
 * Whether a text for the client ends within its JSON. The client receives no JSON by which it could tell, and half a patch or
 * command may be a whole one.
 */
export function breaksOff(draft: Draft, call: OpenToolCall): boolean {
  return !call.owner && call.reading.phase === 'text' && inputField(draft, call) !== undefined;
}

/** Counted from the end, so that the ids of refused calls differ from those that are made for shown ones. */
const LAST_CALL_ID = 0xfff;

/** A call that the request does not allow is never shown, whatever the model does; the loop tells the model of it. */
export function refuseCall(draft: Draft, delta: CallDelta, name: string, why: CallRefusal): undefined {
  const id = unusedCallId(draft, delta.id, LAST_CALL_ID - draft.refused.size);
  draft.callIds = draft.callIds.with(id, true);
  draft.bytes += Buffer.byteLength(name) + Buffer.byteLength(id);
  countItem(draft);
  draft.events.push({ type: 'call-dropped', name, why });
  growRefused(draft, { id, name, why, arguments: '' }, delta);
}

/** Arguments beyond the limit are left out: the call fails anyway. */
function growRefused(draft: Draft, refused: RefusedCall, { call, arguments: text }: CallDelta): undefined {
  const whole = refused.arguments + text;
  const written = whole.length > draft.plan.argumentBytes ? refused.arguments : whole;
  draft.bytes += Buffer.byteLength(text);
  draft.refused = draft.refused.with(call, { ...refused, arguments: written });
}

/** The upstream's id, or a generated one if the upstream sent none or repeats the same for several calls. */
function unusedCallId(draft: Draft, id: string | undefined, index: number): string {
  if (id && !draft.callIds.has(id)) return id;
  // Some servers accept at most 40 characters.
  return `call_${draft.plan.seed}${index.toString(16).padStart(3, '0')}`;
}

/** Adds to the arguments of a shown call. A single text among them is emitted as soon as it can be decoded. */
export function writeArguments(draft: Draft, call: OpenToolCall, text: string): OpenToolCall {
  call.arguments += text;
  if (call.unread !== undefined) call.unread += text;
  const field = inputField(draft, call);
  if (!field) {
    emitArguments(draft, call, text);
    return call;
  }
  const [reading, added] = readField(call.reading, field, text);
  call.reading = reading;
  call.input += added;
  if (added !== '') emitArguments(draft, call, added);
  return call;
}

function emitArguments(draft: Draft, call: OpenToolCall, text: string): void {
  const { type, argumentsEvent } = presentedAs(draft.plan, call);
  if (argumentsEvent === undefined) return;
  draft.events.push({
    type: 'arguments-delta',
    sequence: draft.sequence++,
    index: call.index,
    itemId: call.id,
    call: type,
    text,
  });
}

/** Emits the call's progress, if its type has an event for that. */
function emitState(draft: Draft, call: OpenToolCall, stage: keyof WrittenToolCallKind['states']): void {
  const { type: kind, states } = presentedAs(draft.plan, call);
  const state = states[stage];
  if (state === undefined) return;
  const { index, id: itemId } = call;
  draft.events.push({ type: 'call-state', sequence: draft.sequence++, index, itemId, kind, state });
}

/**
 * Ends the arguments. A call without arguments gets `{}`, also as a delta, since some clients read only deltas. A
 * complete call of a server-run tool then waits for its result.
 */
export function closeCall(draft: Draft, open: OpenToolCall, status: ItemStatus): void {
  const field = inputField(draft, open);
  if (!field && status === 'completed' && open.arguments.trim() === '') writeArguments(draft, open, '{}');
  const whole = field ? withWholeInput(draft, open, field, status) : open;
  const { index, id: itemId, input, owner } = whole;
  const kind = presentedAs(draft.plan, whole);
  const { type, argumentsEvent, completeEvents } = kind;
  const fingerprint = type === 'program' && status === 'completed' ? draft.plan.fingerprint?.(whole) : undefined;
  const call = fingerprint === undefined ? whole : { ...whole, fields: { ...whole.fields, fingerprint } };
  const ended = { index, itemId, call: type, name: clientTool(call).name, arguments: field ? input : call.arguments };
  if (argumentsEvent !== undefined) draft.events.push({ type: 'arguments-end', sequence: draft.sequence++, ...ended });
  if (completeEvents) emitItemEvents(draft, { index, itemId }, completeEvents(call));
  if (owner && status === 'completed') {
    // What runs is what was shown, in whatever form the model wrote it; but a text that breaks off is none that it meant.
    const isWhole = field !== undefined && whole.reading.phase !== 'text';
    const run = isWhole ? JSON.stringify({ [field]: input }) : (kind.runArguments?.(call.arguments) ?? call.arguments);
    draft.pending = draft.pending.with(index, { ...call, owner, arguments: run });
    emitState(draft, call, 'running');
    if (!endsBeforeResult(kind)) return;
  }
  closeItem(draft, index, callItem(draft.plan, call, status));
}

/** Whether the item of such a call has ended when it runs. */
function endsBeforeResult({ runBy, endsBeforeResult: ends }: WrittenToolCallKind): boolean {
  return runBy === 'client' || ends === true;
}

/** Input in another form than requested still counts as the text. */
function withWholeInput(draft: Draft, call: OpenToolCall, field: string, status: ItemStatus): OpenToolCall {
  const { phase } = call.reading;
  // Arguments that were truncated before the text began contain no text.
  if (phase === 'text' || phase === 'done' || (phase === 'head' && status === 'incomplete')) return call;
  const fields = objectIn(call.arguments);
  const [only, ...others] = fields && field in fields ? [fields[field]] : Object.values(fields ?? {});
  const input = others.length === 0 && typeof only === 'string' ? only : call.arguments;
  if (input !== call.input) emitArguments(draft, call, input);
  return { ...call, input };
}

/** Not the number of any model's call; upstreams number theirs. */
const APPROVED = -1;

/** Shows a call that the user has approved, which then waits for its result. */
export function writeApproved(draft: Draft, { name, arguments: text, approvalRequestId, program }: ApprovedCall): void {
  // Not every type of call shows what it was approved by, and the program goes on with the result of its request.
  const head =
    program === undefined
      ? undefined
      : { fields: { ...programCaller(program), approval_request_id: approvalRequestId } };
  const call = showCall(draft, APPROVED, name, head, approvalRequestId);
  closeCall(draft, writeArguments(draft, call, text), 'completed');
}

/** The program waits for its next result; its item is that of an earlier turn. */
export function resumeProgram(draft: Draft, { index, name, callId, code }: ResumedProgram & { index: number }): void {
  const owner = draft.plan.owners.get(name);
  if (!owner) return;
  const nothing = { bytes: 0, input: code, reading: FIELD_START, form: undefined };
  const call = {
    toolCallIndex: index,
    index,
    id: '',
    callId,
    name,
    owner,
    arguments: JSON.stringify({ code }),
    ...nothing,
  };
  draft.callIds = draft.callIds.with(callId, true);
  draft.pending = draft.pending.with(index, call);
}

/** Not the number of any model's call, either. */
const INNER = -2;

/**
 * Shows the calls of a program. Those of the server wait for their results, and the program for them; it is not pending while it waits for
 * the client, who must run one of them or approve it.
 */
function writeInnerCalls(draft: Draft, program: PendingToolCall, calls: readonly InnerCall[]): void {
  const caller = programCaller(program.callId);
  let waitsForClient = false;
  for (const { name, arguments: text } of calls) {
    const owner = draft.plan.owners.get(name);
    draft.bytes += Buffer.byteLength(text);
    if (!owner || owner.needsApproval) waitsForClient = true;
    if (owner?.needsApproval) requestOne(draft, owner, text, caller);
    else closeCall(draft, writeArguments(draft, showCall(draft, INNER, name, { fields: caller }), text), 'completed');
  }
  if (waitsForClient) draft.pending = draft.pending.without(program.index);
}

/** Requests the user's approval of the calls that need it; those of a truncated model are left out. */
export function requestApproval(draft: Draft, isWhole: boolean): void {
  const { awaitingApproval: awaiting } = draft;
  draft.awaitingApproval = NOTHING;
  for (const { owner, arguments: text } of awaiting.values()) {
    if (!isWhole) {
      draft.events.push({ type: 'call-dropped', name: owner.name, why: 'cut_off' });
      continue;
    }
    requestOne(draft, owner, text);
  }
}

function requestOne(
  draft: Draft,
  owner: ToolOwner,
  text: string,
  caller: Partial<ReturnType<typeof programCaller>> = {},
): void {
  closeWriting(draft, 'completed');
  const index = draft.output.size;
  const item: McpApprovalRequestItem = {
    id: nextItemId(draft, 'mcpr'),
    type: 'mcp_approval_request',
    arguments: text.trim() === '' ? '{}' : text,
    name: owner.name,
    server_label: owner.server,
    ...caller,
  };
  announce(draft, item);
  closeItem(draft, index, item);
}

/** Shows the result of a pending call; a result without a pending call is ignored. */
export function writeResult(draft: Draft, { index, ...result }: ToolCallResult & { readonly index: number }): void {
  const call = draft.pending.get(index);
  if (!call) return;
  if (result.calls) return writeInnerCalls(draft, call, result.calls);
  draft.pending = draft.pending.without(index);
  draft.bytes += Buffer.byteLength(result.image?.result ?? '');
  for (const { modelName } of result.found ?? []) draft.found = draft.found.with(modelName, modelName);
  if (result.passages) draft.files = withFiles(draft.files, result.passages);
  if (result.results) draft.pages = withPages(draft.pages, result.results);
  const kind = presentedAs(draft.plan, call);
  const { outputItem } = kind;
  const container_id = call.owner?.container;
  if (result.written && container_id !== undefined)
    draft.pages = withContainerFiles(
      draft.pages,
      result.written.map((file) => ({ ...file, container_id })),
    );
  if (!endsBeforeResult(kind)) {
    emitState(draft, call, result.failed ? 'failed' : 'completed');
    closeItem(draft, index, finishedItem(draft.plan, call, result));
  }
  // A truncated item must stay the last.
  if (!outputItem || isCutOff(draft)) return;
  const place = draft.output.size;
  const id = nextItemId(draft, outputItem.idPrefix);
  announce(draft, outputItem.item(call, id, undefined));
  const item = outputItem.item(call, id, result);
  if (outputItem.events) emitItemEvents(draft, { index: place, itemId: id }, outputItem.events(item));
  closeItem(draft, place, item);
}

/** Emits events that only one type of item has. */
function emitItemEvents(
  draft: Draft,
  place: { readonly index: number; readonly itemId: string },
  events: readonly ItemEvent[],
): void {
  for (const event of events)
    draft.events.push({ type: 'native-progress', sequence: draft.sequence++, ...place, event });
}

/** Shows an unfinished image, unless the image itself, which is about as large, would then exceed the turn's limit. */
export function writePartialImage(draft: Draft, { index, image }: Extract<TurnInput, { type: 'partial-image' }>): void {
  const call = draft.pending.get(index);
  const bytes = image.result.length;
  if (!call || draft.bytes + 2 * bytes > draft.plan.outputBytes) return;
  draft.bytes += bytes;
  const { type: kind } = presentedAs(draft.plan, call);
  draft.events.push({ type: 'partial-image', sequence: draft.sequence++, index, itemId: call.id, kind, image });
}

/** Closes calls that were never run, when the turn ends normally. */
export function failPending(draft: Draft): void {
  const output = 'Not run: the response had ended.';
  const error = protocolError(INTERNAL_ERROR, output);
  for (const { index } of draft.pending.values()) writeResult(draft, { index, output, failed: true, error });
}

/** Leaves pending calls without results unchanged, when the turn fails. */
export function abandonPending(draft: Draft): void {
  const { pending } = draft;
  draft.pending = NOTHING;
  for (const call of pending.values()) {
    // The item of such a call has ended already.
    if (!endsBeforeResult(presentedAs(draft.plan, call)))
      closeItem(draft, call.index, callItem(draft.plan, call, 'incomplete'));
  }
}

/** Shows which tools of a server are offered to the model. */
export function writeToolList(draft: Draft, server: string, tools: readonly ListedTool[]): void {
  closeWriting(draft, 'completed');
  const index = draft.output.size;
  const item = { id: nextItemId(draft, 'mcpl'), type: 'mcp_list_tools', server_label: server } as const;
  const place = { index, itemId: item.id };
  announce(draft, { ...item, status: 'in_progress', tools: [] });
  draft.events.push({ type: 'list-progress', sequence: draft.sequence++, ...place });
  draft.events.push({ type: 'list-end', sequence: draft.sequence++, ...place });
  closeItem(draft, index, { ...item, status: 'completed', tools });
}
