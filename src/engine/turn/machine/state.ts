/** The state of a turn between two steps, and the copy of it that one step may change. */

import type { ToolOwner } from '../../../ports/toolset.ts';
import {
  type FinishReason,
  type IncompleteReason,
  type ModelEvent,
  NO_USAGE,
  type RawChunk,
  type TurnEvent,
  type TurnInput,
  type UpstreamFacts,
  type Usage,
} from '../../../protocol/events.ts';
import type { GrownText } from '../../../protocol/grown-text.ts';
import type { Annotation, OutputItem, Part, PartType, WebSearchCallItem } from '../../../protocol/items.ts';
import type { ObjectReading } from '../../../protocol/json/object-end.ts';
import type { ToolForm } from '../../../protocol/tool-calls/kind.ts';
import { SharedList, SharedMap } from '../data/shared-list.ts';
import type { TextField } from '../data/text-field.ts';
import type { CallRules, RefusedCall } from './call-permission.ts';
import type { CitedFiles } from './cited-files.ts';
import type { CitedPages } from './cited-pages.ts';

type UsageEvent = Extract<ModelEvent, { type: 'usage' }>;

/** The settings that are fixed before a turn begins. */
export interface TurnPlan extends CallRules {
  /** The random part of the response's id, from which every item's id is made. */
  readonly seed: string;
  /** Where reasoning is written: the item's `summary`, or its raw `content`. */
  readonly reasoning: 'summary_text' | 'reasoning_text';
  /** The tools that the server runs, by the model's name for them. */
  readonly owners: ReadonlyMap<string, ToolOwner>;
  /**
   * Whether their calls, except code runs, are shown as `mcp_call`, or as `function_call` and `function_call_output`.
   */
  readonly ownedAs: 'mcp_call' | 'function_call';
  /** The client's definition of its own tools, by the model's name for them; plain functions need none. */
  readonly forms?: ReadonlyMap<string, ToolForm>;
  /** The files of which earlier turns gave the model passages, by what their marks hold. */
  readonly files?: CitedFiles | undefined;
  /** The files of containers that earlier turns wrote, to which a text may link. */
  readonly pages?: CitedPages | undefined;
  /** Whether a `queued` event is sent between `created` and `in_progress`. */
  readonly queuedEvent: boolean;
  /** UTF-8 bytes of everything the model may write in one turn. */
  readonly outputBytes: number;
  /** UTF-8 bytes of the arguments of one call. */
  readonly argumentBytes: number;
  /** Whether calls of two answers may have the same id: the client receives none of the first. Default: false. */
  readonly repeatsCallIds?: boolean;
  /**
   * Seals the upstream state that must be sent back, for the item that carries it; without `seal` that state is left
   * out.
   */
  readonly seal?: ((state: unknown) => string) | undefined;
  /** What a program's item carries so that it can go on later, in any process; without it programs cannot. */
  readonly fingerprint?: ((call: { readonly callId: string; readonly input: string }) => string) | undefined;
  /** Seals a whole thought, with its state if it has one; without `sealThought` a thought leaves as its text alone. */
  readonly sealThought?: ((thought: string, state?: unknown) => string) | undefined;
}

/** The plan of an answer whose calls are all the client's, where nobody is shown the ids of its items. */
export function plainPlan(
  { outputBytes, argumentBytes }: Pick<TurnPlan, 'outputBytes' | 'argumentBytes'>,
  reasoning: TurnPlan['reasoning'],
  seed: string,
): TurnPlan {
  return { seed, reasoning, owners: new Map(), ownedAs: 'mcp_call', queuedEvent: false, outputBytes, argumentBytes };
}

/** A part that is being written. */
export interface OpenPart extends GrownText {
  readonly type: PartType;
  readonly index: number;
  annotations: SharedList<Annotation>;
  /** The end of the text that may become the mark of a citation; it is not shown yet. */
  held: string;
  /** The JSON of each, separated by commas. */
  logprobs: GrownText | undefined;
}

/** The message or reasoning item that is being written; at most one at a time. */
export interface Writing {
  readonly kind: 'message' | 'reasoning';
  readonly index: number;
  readonly id: string;
  /** Set on messages only. */
  readonly phase: string | undefined;
  parts: SharedList<Part>;
  part: OpenPart | undefined;
}

/** The call whose arguments are arriving: one at a time is shown, although upstreams interleave them. */
export interface OpenToolCall {
  readonly toolCallIndex: number;
  readonly index: number;
  readonly id: string;
  readonly callId: string;
  /** The model's name for it. */
  readonly name: string;
  readonly owner: ToolOwner | undefined;
  readonly form: ToolForm | undefined;
  arguments: string;
  /**
   * UTF-8 bytes of the arguments; counted as they arrive, since counting a long text for each delta of it is too slow.
   */
  bytes: number;
  /** The free text of a custom tool, or the code, as far as it can be decoded, and the state of its parser. */
  input: string;
  reading: TextField;
  /** How far the arguments have been searched for their end, and those after that; nothing is read before it matters. */
  object?: ObjectReading;
  unread?: string;
  /** The id of the approval request by which the user approved it. */
  readonly approvalRequestId?: string;
  /** Further fields of its item: those of a client's call as the model server shows them, and the program that made the call. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** A call that began while another one was open: it is shown after that. */
export interface WaitingCall {
  readonly toolCallIndex: number;
  readonly name: string;
  /** The model's id of the call, and the fields of a type that the model's own server knows. */
  readonly head: Pick<Extract<ModelEvent, { type: 'tool-call-delta' }>, 'id' | 'fields'>;
  readonly arguments: string;
  /** UTF-8 bytes of the arguments. */
  readonly bytes: number;
  /** The chunks that it came in, for an API that sends them on. */
  readonly chunks: SharedList<RawChunk>;
}

/** What the model has written behind the open call since another call began, in the order in which it began. */
export interface WaitingOutput {
  /** Undefined where it has been shown. */
  readonly entries: SharedList<WaitingCall | TurnInput | undefined>;
  /** The position of the first entry. */
  readonly first: number;
  /** The positions of the calls, by the upstream's index. */
  readonly places: SharedMap<number, number>;
  /** A lower bound of the UTF-8 bytes of all entries, the shown ones included. */
  readonly bytes: number;
}

/** A call that needs approval: it is shown only once it is complete. */
export interface ToolCallAwaitingApproval {
  readonly toolCallIndex: number;
  readonly owner: ToolOwner;
  readonly arguments: string;
  readonly bytes: number;
}

/** A server-run call whose result is pending. */
export type PendingToolCall = Readonly<OpenToolCall> & { readonly owner: ToolOwner };

/** A web search by the model's own server that has not ended. */
interface OpenSearch {
  readonly search: string;
  readonly index: number;
  readonly item: WebSearchCallItem;
}

/** An item of the model's own server that has not ended. */
export interface OpenNativeItem {
  /** The upstream's number for it. */
  readonly native: number;
  readonly index: number;
  readonly item: OutputItem;
  /** UTF-8 bytes of it that are counted. */
  readonly bytes: number;
}

/** The whole state of a turn between two steps. Treat it as a value: `step` never changes the one it was given. */
export interface TurnState {
  readonly plan: TurnPlan;
  readonly started: boolean;
  readonly ended: boolean;
  readonly sequence: number;
  /** Model calls that have finished. */
  readonly round: number;
  /** The size of the output when the current model call began. */
  readonly roundStart: number;
  readonly output: SharedList<OutputItem>;
  readonly writing: Readonly<Writing> | undefined;
  /** The phase of the message that the next text begins. */
  readonly nextPhase: string | undefined;
  readonly openCall: Readonly<OpenToolCall> | undefined;
  /** Undefined for nothing, and always without an open call. */
  readonly waiting: WaitingOutput | undefined;
  /** The calls of the current model call that have ended, by the upstream's index. */
  readonly closedCalls: SharedMap<number, true>;
  readonly awaitingApproval: SharedMap<number, ToolCallAwaitingApproval>;
  /** By their index in the output. */
  readonly pending: SharedMap<number, PendingToolCall>;
  /** By the upstream's id for it. */
  readonly searches: SharedMap<string, OpenSearch>;
  /** By the upstream's number for it. */
  readonly natives: SharedMap<number, OpenNativeItem>;
  /** The calls of the current model call that it may not make, by the upstream's index. */
  readonly refused: SharedMap<number, RefusedCall>;
  /** Whether the model must call the plan's forced tool. */
  readonly isForced: boolean;
  /** Whether the current model call has begun a call that it may make. */
  readonly hasCall: boolean;
  readonly callIds: SharedMap<string, true>;
  /** The model's names for the deferred tools that it has found, by themselves. */
  readonly found: SharedMap<string, string>;
  /** The pages that this server's searches have found, and files in containers, by their addresses in one spelling. */
  readonly pages: CitedPages;
  /** The files of which the model received passages, by what their marks hold. */
  readonly files: CitedFiles;
  readonly usage: Usage;
  readonly callUsage: UsageEvent | undefined;
  /** Undefined before the first event. */
  readonly facts: UpstreamFacts | undefined;
  /** Undefined while the model writes. */
  readonly finish: FinishReason | undefined;
  readonly stopped: IncompleteReason | undefined;
  /** Everything the model wrote, in UTF-8 bytes. */
  readonly bytes: number;
  /** Items, parts and calls that the model opened, shown or not. */
  readonly items: number;
}

/** A copy of the state that one step may change, and the events that the step emits. */
export type Draft = { -readonly [Key in Exclude<keyof TurnState, 'writing' | 'openCall'>]: TurnState[Key] } & {
  writing: Writing | undefined;
  openCall: OpenToolCall | undefined;
  events: TurnEvent[];
};

const EMPTY_LIST: SharedList<never> = new SharedList();
const EMPTY_MAP: SharedMap<never, never> = new SharedMap();

/** The state before the first step. */
export function startState(plan: TurnPlan): TurnState {
  return {
    plan,
    started: false,
    ended: false,
    sequence: 0,
    round: 0,
    roundStart: 0,
    output: EMPTY_LIST,
    writing: undefined,
    nextPhase: undefined,
    openCall: undefined,
    waiting: undefined,
    closedCalls: EMPTY_MAP,
    awaitingApproval: EMPTY_MAP,
    pending: EMPTY_MAP,
    searches: EMPTY_MAP,
    natives: EMPTY_MAP,
    refused: EMPTY_MAP,
    isForced: plan.forcedTool !== undefined,
    hasCall: false,
    callIds: EMPTY_MAP,
    found: EMPTY_MAP,
    pages: plan.pages ?? EMPTY_MAP,
    files: plan.files ?? EMPTY_MAP,
    usage: NO_USAGE,
    callUsage: undefined,
    facts: undefined,
    finish: undefined,
    stopped: undefined,
    bytes: 0,
    items: 0,
  };
}

/** A copy to change. It copies field by field: spreading costs six times as much, and this runs for every batch. */
export function copyState(state: TurnState): Draft {
  const { writing } = state;
  const part = writing?.part;
  return {
    plan: state.plan,
    started: state.started,
    ended: state.ended,
    sequence: state.sequence,
    round: state.round,
    roundStart: state.roundStart,
    output: state.output,
    writing: writing && {
      kind: writing.kind,
      index: writing.index,
      id: writing.id,
      phase: writing.phase,
      parts: writing.parts,
      part: part && {
        type: part.type,
        index: part.index,
        text: part.text,
        tail: part.tail,
        held: part.held,
        annotations: part.annotations,
        logprobs: part.logprobs && { text: part.logprobs.text, tail: part.logprobs.tail },
      },
    },
    nextPhase: state.nextPhase,
    // Once per step, not for each of its deltas.
    openCall: state.openCall && { ...state.openCall },
    waiting: state.waiting,
    closedCalls: state.closedCalls,
    awaitingApproval: state.awaitingApproval,
    pending: state.pending,
    searches: state.searches,
    natives: state.natives,
    refused: state.refused,
    isForced: state.isForced,
    hasCall: state.hasCall,
    callIds: state.callIds,
    found: state.found,
    pages: state.pages,
    files: state.files,
    usage: state.usage,
    callUsage: state.callUsage,
    facts: state.facts,
    finish: state.finish,
    stopped: state.stopped,
    bytes: state.bytes,
    items: state.items,
    events: [],
  };
}

/**
 * The state that the draft has become: the draft itself, which must not be changed from now on. A second copy would be
 * the larger half of a step's cost.
 */
export function finishDraft(draft: Draft): TurnState {
  draft.events = NO_EVENTS;
  return draft;
}

/** Replaces the events of a finished step, which belong to its caller. */
const NO_EVENTS: TurnEvent[] = [];

/** Whether the model was stopped in the middle, so that its last item is incomplete and must stay the last. */
export function isCutOff({ finish }: Pick<TurnState, 'finish'>): boolean {
  return finish !== undefined && finish !== 'stop';
}
