/** The input of a turn's state machine: the model's output, the results of server-run tools, and the model again. */

import type { Upstream, UpstreamCall } from '../../ports/upstream.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { ApprovedCall, ResumedProgram, TurnInput } from '../../protocol/events.ts';
import { originOfItem, outputItemId } from '../../protocol/ids.ts';
import { partText } from '../../protocol/item-text.ts';
import type { Item, ListedTool, OutputItem, PartialImage, ToolCallResult } from '../../protocol/items.ts';
import type { ModelRequest, ToolDefinition } from '../../protocol/model-request.ts';
import { joinedPrograms } from '../../protocol/tool-calls/conversation/joined-programs.ts';
import { pendingClientCalls } from '../../protocol/tool-calls/conversation/pair-calls.ts';
import { toolCallKind } from '../../protocol/tool-calls/kinds.ts';
import { callingProgram } from '../../protocol/tool-calls/program-call.ts';
import { NO_ROOM } from '../../protocol/tool-calls/results/output-size.ts';
import { interleaved } from '../../streams/interleaved.ts';
import { mapStream, singleChunkStream } from '../../streams/pull-stream.ts';
import { streamUntilAborted } from '../../streams/until-aborted-stream.ts';
import { WholeCharacters } from './data/whole-characters.ts';
import { isServerExecuted } from './machine/call-items.ts';
import {
  type CallRules,
  callRefusal,
  lacksCallNote,
  toolsAfterRefusals,
  toRefusalItems,
} from './machine/call-permission.ts';
import { isCutOff, type PendingToolCall, type TurnPlan, type TurnState } from './machine/state.ts';
import type { RoundCall, ToolRounds } from './machine/tool-rounds.ts';

/** What the loop needs from a turn. */
export interface Loop {
  /** Hands over the first request, once, so that a long history can be freed while the model answers. */
  readonly takeRequest: () => ModelRequest;
  readonly upstream: Pick<Upstream, 'stream'>;
  /** The items as the upstream receives them: with the upstream's own state that they carry. */
  readonly opened: (items: readonly Item[]) => readonly Item[];
  readonly call: UpstreamCall;
  /** Whether the client receives the model server's own chunks, where the halves of a character may stand apart. Default: false. */
  readonly passesChunks?: boolean;
  readonly plan: Pick<TurnPlan, 'owners'> & CallRules;
  /** The tools of each server that the client has not been shown yet. */
  readonly lists: ReadonlyMap<string, readonly ListedTool[]>;
  /** A tool that the model is offered once it has found it, by its name for it. */
  readonly deferred?: ((name: string) => DeferredTool | undefined) | undefined;
  /** The servers among them whose tools are listed first: the request itself names them. */
  readonly named: ReadonlySet<string>;
  /** Calls of earlier turns that the user has approved: they run before the model is called. */
  readonly approved: readonly ApprovedCall[];
  /** Set if another process began the turn, and is gone. */
  readonly resumed?: ResumedTurn | undefined;
  /**
   * Resolves when this state is kept, where another process may go on with the turn: it must know of a call before the
   * call runs, or it would be made twice. Undefined if there is none.
   */
  readonly beforeCalls?: ((state: TurnState) => Promise<void>) | undefined;
  /** Receives each result as the model does. */
  readonly onResult?: ((call: PendingToolCall, result: ToolCallResult) => void) | undefined;
  /** The model's programs; undefined if it may write none. */
  readonly programs?: LoopPrograms | undefined;
  /** What other agents of the response send to this one; undefined if it has none. */
  readonly mail?: AgentMail | undefined;
  /** Starts counting tool rounds; running one rejects only when the turn is aborted. */
  readonly beginRounds: () => ToolRounds<PendingToolCall>;
}

/** The programs of a turn, as its loop needs them. */
interface LoopPrograms {
  /** Those of earlier turns that go on. */
  readonly waiting: readonly ResumedProgram[];
  /** Reads what the turn has come to: their calls' results, and the tools that the model has found. */
  readTurn(state: TurnState): void;
  /** Ends those that run. */
  close(): Promise<void>;
}

/** The messages of other agents, between the model's answers. */
export interface AgentMail {
  /** Those that have come, as the model receives them. Each is taken once. */
  take(): readonly Item[];
  /** Resolves when the agent has answered: whether more has come that it must answer, after all that it waits for. */
  more(): Promise<boolean>;
  /** Whether the client must act before the agent can go on. */
  mustPause(): boolean;
}

/** A tool that the model must find first. */
interface DeferredTool {
  readonly server: string;
  readonly definition: ToolDefinition;
  readonly listed: ListedTool;
}

/** A turn that another process began. */
export interface ResumedTurn {
  /** Where it was when that process last reported. */
  readonly state: TurnState;
  /** Its output as the model must receive it. */
  readonly modelView: (output: readonly OutputItem[]) => readonly Item[];
}

/** The input of the state machine, batch by batch. */
export type Inputs = AsyncIterable<readonly TurnInput[]>;

/** What the model writes in answer to one request, or until the turn is over: an upstream of the host's may not heed the signal. */
export function modelOutput({ upstream, call, passesChunks }: Loop, request: ModelRequest): Inputs {
  const output = streamUntilAborted(upstream.stream(request, call), call.signal);
  return passesChunks ? output : mapStream(output, new WholeCharacters());
}

/** Throws `upstream_truncated` for a model call that has ended without its `finish`: its output may be cut anywhere. */
export function requireFinish({ finish }: Pick<TurnState, 'finish'>): void {
  if (finish !== undefined) return;
  const cause = new Error("The upstream's stream ended without a `finish` event.");
  throw new ApiError('upstream_truncated', 'The model server broke off its answer.', { cause });
}

/** A turn while its loop runs. */
interface LoopedTurn {
  readonly loop: Loop;
  readonly rounds: ToolRounds<PendingToolCall>;
  readonly current: () => TurnState;
}

/**
 * Yields the model's output and the tool results as sources, each to be read to its end, until the model answers
 * without calling a server-run tool or one that it may not call, calls a client's tool, or reaches a limit. N rounds
 * are exactly N model calls.
 * `current` returns the machine's state after everything that was read.
 */
export function turnRounds(loop: Loop, current: () => TurnState): AsyncGenerator<Inputs, void> {
  const rounds = roundsOfTurn(loop, current);
  return loop.programs ? closingPrograms(rounds, loop.programs) : rounds;
}

async function* closingPrograms(
  rounds: AsyncGenerator<Inputs, void>,
  programs: LoopPrograms,
): AsyncGenerator<Inputs, void> {
  try {
    yield* rounds;
  } finally {
    await programs.close();
  }
}

async function* roundsOfTurn(loop: Loop, current: () => TurnState): AsyncGenerator<Inputs, void> {
  const { plan, resumed, approved } = loop;
  const programs = loop.programs?.waiting ?? [];
  const rounds = loop.beginRounds();
  const turn = { loop, rounds, current };
  const withToolLists = toolListWriter(loop, current);
  let request = loop.takeRequest();

  if (resumed) {
    yield singleChunkStream([{ type: 'resume' }]);
    if (current().pending.size > 0 && !(yield* runPendingCalls(turn, current().roundStart))) return;
    if (!needsModel(current(), plan)) return;
    const refusedItems = current().finish === undefined ? [] : refusalItems(request, plan, current());
    request = withFoundTools(resumedRequest(request, resumed, current(), refusedItems), loop, current());
  }

  const goesOn = approved.length + programs.length > 0;
  if (goesOn) {
    const calls = [
      ...approved.map((call): TurnInput => ({ type: 'call-approved', ...call })),
      ...programs.map((program, at): TurnInput => ({ type: 'program-resumed', index: -1 - at, ...program })),
    ];
    // They belong to an earlier model call, so the model's next output is not part of it.
    yield withToolLists(singleChunkStream([...calls, { type: 'finish', reason: 'stop' }]));
    const written = yield* runPendingCalls(turn, 0);
    if (!written) return;
    request = nextRequest(request, { written, added: [], isRepeating: false, isOpen: true }, plan);
  }

  let refusals = 0;
  for (let isFirst = true; ; isFirst = false) {
    const before = current().output.size;
    const messages = loop.mail?.take() ?? [];
    if (messages.length > 0) request = { ...request, items: [...request.items, ...messages] };
    if (!isFirst || resumed || goesOn)
      yield singleChunkStream([{ type: 'model-call', isForced: typeof request.toolChoice === 'object' }]);
    yield withToolLists(modelOutput(loop, request));
    requireFinish(current());
    noteMissingCall(loop, request, current(), before);

    const { pending, refused } = current();
    if (isCutOff(current())) return;
    if (pending.size === 0 && !continuesAfterRefusals(current(), before, plan)) {
      if (!loop.mail || pendingClientCalls(current().output.from(before)).length > 0) return;
      if (!(await loop.mail.more())) return;
    }
    const refusedItems = refusalItems(request, plan, current());
    const written =
      pending.size > 0 ? yield* runPendingCalls(turn, before) : yield* refuseRound(turn, before, refusedItems);
    if (!written) return;

    if (refused.size > 0) refusals += 1;
    const answer = { written, added: refusedItems, isRepeating: rounds.isRepeating(), isOpen: pending.size === 0 };
    const next = nextRequest(request, answer, plan);
    const tools = toolsAfterRefusals(refusals, next.tools, plan, ({ name }) => name);
    request = withFoundTools(tools === next.tools ? next : { ...next, tools }, loop, current());
  }
}

/** Tells the host of an answer without the call that the request demands. The model's own server may have made it, and run it. */
function noteMissingCall({ call, plan }: Loop, { toolChoice }: ModelRequest, state: TurnState, before: number): void {
  if (toolChoice !== 'required' && typeof toolChoice !== 'object') return;
  if (state.finish !== 'stop' || state.hasCall || state.refused.size > 0) return;
  const hasNativeItem = state.output.from(before).some(({ id }) => originOfItem(id) !== undefined);
  if (!hasNativeItem) call.note?.(lacksCallNote(plan));
}

/** Whether the model is asked again although none of its calls ran: it made calls that it may not make, and nothing else. */
function continuesAfterRefusals({ refused, output }: TurnState, before: number, plan: CallRules): boolean {
  if (refused.size === 0) return false;
  const written = output.from(before);
  if (pendingClientCalls(written).length > 0) return false;
  // A client that wants no calls at all has its answer.
  if (plan.allowedTools?.size !== 0) return true;
  return !written.some((item) => item.type === 'message' && item.content.some((part) => partText(part).trim() !== ''));
}

/** The refused calls with what the model receives in place of their results. The same of every one, as they belong to one answer of the model. */
function refusalItems({ tools }: ModelRequest, plan: CallRules, state: TurnState): readonly Item[] {
  const names = tools.map(({ name }) => name);
  return state.refused.values().flatMap((call, at): readonly Item[] => {
    // The id says which answer of the model it belongs to.
    const id = outputItemId('fc', state.plan.seed, state.output.size + at, state.round - 1);
    return toRefusalItems(call, id, plan, names);
  });
}

/**
 * Runs the pending calls. Returns what was written since `before` as the model must see it, or undefined if the turn
 * ends.
 */
async function* runPendingCalls(
  { loop, rounds, current }: LoopedTurn,
  before: number,
): AsyncGenerator<Inputs, readonly Item[] | undefined> {
  const outputs: Outputs = new Map();
  const calls = new Map<string, PendingToolCall>();
  const begun = new Set<number>();
  // What a program calls runs in the same round, and then the program goes on.
  for (let isInner = false; current().pending.size > 0; isInner = true) {
    const pending = nextCalls(loop, current(), begun);
    for (const call of pending) calls.set(call.id, call);
    loop.programs?.readTurn(current());
    await loop.beforeCalls?.(current());
    yield interleaved((push) => {
      const partial: OnPartialImage = ({ index }, image) => push([{ type: 'partial-image', index, image }]);
      return callResults({ loop, rounds, current }, pending, outputs, partial, isInner);
    });
    if (rounds.stopped()) return undefined;
  }
  if (loop.mail?.mustPause()) return undefined;
  const written = current().output.from(before);
  // The client must act before the model can continue: run a call, or approve one.
  if (pendingClientCalls(written).some(({ id }) => !calls.has(String(id)))) return undefined;
  // The model receives its own call ids, and results with their images.
  const items = written.map((item): Item => {
    const call = calls.get(item.id);
    const kind = toolCallKind(item);
    if (!call || kind?.runBy !== 'server' || kind.endsBeforeResult) return item;
    const { output, failed } = outputs.get(call.index) ?? {};
    // The item has only what could be read of arguments that were wrong.
    const wrong = failed ? { arguments: call.arguments } : {};
    return { ...item, name: call.name, call_id: call.callId, output, ...wrong };
  });
  return loop.opened(items);
}

/**
 * The pending calls that run now: those that programs have made before the programs themselves. Of these one runs to its end before the next begins: each
 * holds a process while its calls run, for which another could wait for ever. `begun` are those that run already.
 */
function nextCalls(
  { programs }: Loop,
  { pending }: TurnState,
  begun: Set<number>,
): readonly (PendingToolCall & RoundCall)[] {
  const all = pending.values();
  if (!programs) return all;
  const isProgram = ({ owner }: PendingToolCall) => owner.shownAs === 'program';
  const others = all.filter((call) => !isProgram(call));
  const callers = new Set(others.flatMap(({ fields = {} }) => callingProgram(fields) ?? []));
  for (const { index, callId } of callers.size === 0 ? [] : all) if (callers.has(callId)) begun.add(index);
  const program = callers.size > 0 ? undefined : all.find(isProgram);
  if (!program) return others;
  const hasBegun = program.index < 0 || begun.has(program.index);
  begun.add(program.index);
  // One that has begun is not counted, and so comes first.
  return hasBegun ? [{ ...program, hasBegun }, ...others] : all.filter((call) => call === program || !isProgram(call));
}

/** The items of a request with what the turn has written since. */
function withWritten(items: readonly Item[], written: readonly Item[]): readonly Item[] {
  const all = [...items, ...written];
  return written.some(({ type }) => type === 'program_output') ? joinedPrograms(all) : all;
}

/** What the model receives of the calls that ran, by their index. */
type Outputs = Map<number, Pick<ToolCallResult, 'output' | 'failed'>>;

type OnPartialImage = (call: PendingToolCall, image: PartialImage) => void;

/** Runs the calls, and records the result of each. */
async function* callResults(
  { loop, rounds, current }: LoopedTurn,
  pending: readonly PendingToolCall[],
  outputs: Outputs,
  onPartialImage: OnPartialImage,
  isInner: boolean,
): AsyncGenerator<readonly TurnInput[], void> {
  for await (const { call, outcome: result } of rounds.run(pending, onPartialImage, isInner)) {
    const { bytes, plan } = current();
    const isTooLarge = result.image !== undefined && result.image.result.length > plan.outputBytes - bytes;
    const outcome = isTooLarge ? NO_ROOM : result;
    outputs.set(call.index, { output: outcome.output, failed: outcome.failed });
    loop.onResult?.(call, outcome);
    yield [{ type: 'tool-result', index: call.index, ...outcome }];
  }
  const reason = rounds.stopped();
  if (reason) yield [{ type: 'stop', reason }];
}

/** Counts a round in which nothing ran. Returns as `runPendingCalls` does. */
async function* refuseRound(
  { loop, rounds, current }: LoopedTurn,
  before: number,
  refusedItems: readonly Item[],
): AsyncGenerator<Inputs, readonly Item[] | undefined> {
  const outputs = refusedItems.flatMap(({ output }) => (typeof output === 'string' ? [output] : []));
  rounds.refuse(current().refused.values(), outputs);
  const reason = rounds.stopped();
  if (reason) yield singleChunkStream([{ type: 'stop', reason }]);
  return reason ? undefined : loop.opened(current().output.from(before));
}

/**
 * Puts the tool lists of servers that the request names before everything else, and that of another server before the
 * first call of one of its tools: a client that never uses them does not receive tools that it did not bring.
 */
function toolListWriter({ plan, lists, named, deferred }: Loop, current: () => TurnState): (source: Inputs) => Inputs {
  const unlisted = new Map(lists);
  let begun = false;
  const listOnce = (server: string): readonly TurnInput[] => {
    const tools = unlisted.get(server);
    unlisted.delete(server);
    if (!tools) return [];
    const found = foundTools(current(), deferred).filter((tool) => tool.server === server);
    return [{ type: 'tools-listed', server, tools: [...tools, ...found.map(({ listed }) => listed)] }];
  };
  const map = (batch: readonly TurnInput[]): readonly TurnInput[] => {
    if (begun && (unlisted.size === 0 || !batch.some(beginsCall))) return batch;
    const inputs = begun ? [] : [...named].flatMap(listOnce);
    begun = true;
    for (const input of batch) {
      const isAllowed =
        beginsCall(input) && (input.type === 'call-approved' || !callRefusal(plan, input.name, current()));
      const server = isAllowed ? plan.owners.get(input.name)?.server : undefined;
      if (server !== undefined) inputs.push(...listOnce(server));
      inputs.push(input);
    }
    return inputs;
  };
  return (source) => (unlisted.size === 0 ? source : mapStream(source, { map }));
}

function beginsCall(input: TurnInput): input is TurnInput & { readonly name: string } {
  return input.type === 'call-approved' || (input.type === 'tool-call-delta' && input.name !== undefined);
}

function foundTools({ found }: TurnState, deferred: Loop['deferred']): readonly DeferredTool[] {
  return found.values().flatMap((name) => deferred?.(name) ?? []);
}

/** The request with the tools that the model has found; those that it found first come first, as in the request before. */
function withFoundTools(request: ModelRequest, { deferred }: Loop, state: TurnState): ModelRequest {
  if (state.found.size === 0) return request;
  const offered = new Set(request.tools.map(({ name }) => name));
  const added = foundTools(state, deferred).flatMap(({ definition }) =>
    offered.has(definition.name) ? [] : [definition],
  );
  return added.length === 0 ? request : { ...request, tools: [...request.tools, ...added] };
}

/** Whether the model is called next in a turn that another process began, and that waits for no tool. */
function needsModel(state: TurnState, plan: Loop['plan']): boolean {
  if (state.stopped || isCutOff(state)) return false;
  const written = state.output.from(state.roundStart);
  if (pendingClientCalls(written).length > 0) return false;
  if (continuesAfterRefusals(state, state.roundStart, plan)) return true;
  return (
    state.finish === undefined ||
    written.some((item) => item.type === 'function_call_output' || isServerExecuted(plan, item))
  );
}

const GO_ON: Item = {
  type: 'message',
  role: 'user',
  content:
    'Your answer was interrupted by a technical failure. Go on exactly where it ends, without repeating anything.',
};

/** The request with what the turn has written so far; a text that was torn is to be continued. */
function resumedRequest(
  request: ModelRequest,
  resumed: ResumedTurn,
  { output, finish }: TurnState,
  refusedItems: readonly Item[],
): ModelRequest {
  const written = resumed.modelView(output.from(0));
  if (written.length + refusedItems.length === 0) return request;
  const isTorn = finish === undefined && resumed.state.writing?.kind === 'message';
  const isOpen = !isTorn && !output.from(0).some((item) => toolCallKind(item));
  const answer = { written, added: isTorn ? [...refusedItems, GO_ON] : refusedItems, isRepeating: false, isOpen };
  return nextRequest(request, answer, resumed.state.plan);
}

/** What the turn has come to since a request, as the model must see it. */
interface WrittenAnswer {
  readonly written: readonly Item[];
  /** What the model receives besides, such as calls that did not run and what it is told of them. */
  readonly added: readonly Item[];
  readonly isRepeating: boolean;
  /** Whether a call that is forced has not been made. */
  readonly isOpen: boolean;
}

/** A forced tool choice applies until its call is made, or the model could never answer. */
function nextRequest(
  request: ModelRequest,
  { written, added, isRepeating, isOpen }: WrittenAnswer,
  plan: Loop['plan'],
): ModelRequest {
  const { toolChoice, maxToolCalls, ...rest } = request;
  const ran = written.filter((item) => isRunByServer(item, plan)).length;
  const free = isOpen || toolChoice === undefined || toolChoice === 'none' ? toolChoice : 'auto';
  const choice = isRepeating ? 'none' : free;
  return {
    ...rest,
    items: withWritten(request.items, [...written, ...added]),
    ...(choice === undefined ? {} : { toolChoice: choice }),
    ...(maxToolCalls === undefined ? {} : { maxToolCalls: Math.max(0, maxToolCalls - ran) }),
  };
}

/** Whether this server or the model's own has run the call. */
function isRunByServer(item: Item, plan: Loop['plan']): boolean {
  // The cast: the turn has written it.
  if (item.type === 'function_call') return isServerExecuted(plan, item as OutputItem);
  const runBy = toolCallKind(item)?.runBy;
  return runBy === undefined ? originOfItem(item.id) !== undefined && item.type.endsWith('_call') : runBy !== 'client';
}
