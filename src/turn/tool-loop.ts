/** What goes into a turn's machine: the model's words, the results of the tools we run, and the model again. */

import type { ToolRounds } from '../ports/tool-rounds.ts';
import type { Upstream, UpstreamCall } from '../ports/upstream.ts';
import type { ApprovedCall, TurnInput } from '../protocol/events.ts';
import type { Item, ListedTool, OutputItem, ToolOutput } from '../protocol/items.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import { toolCallKind } from '../protocol/tool-calls/kinds.ts';
import { mapped, only } from '../streams/pull-stream.ts';
import { isCutOff, type PendingToolCall, type TurnPlan, type TurnState } from './state.ts';

/** What the loop needs of a turn. */
export interface Loop {
  /** Hands over the first request, once: a long history may go while the model answers. */
  readonly takeRequest: () => ModelRequest;
  readonly upstream: Upstream;
  /** The items as the upstream is given them: with the state of its own that they carry. */
  readonly opened: (items: readonly Item[]) => readonly Item[];
  readonly call: UpstreamCall;
  readonly plan: Pick<TurnPlan, 'owners' | 'allowedTools'>;
  /** The tools of each server that the client has not been told of yet. */
  readonly lists: ReadonlyMap<string, readonly ListedTool[]>;
  /** The servers among them whose tools are listed first: the request itself names them. */
  readonly named: ReadonlySet<string>;
  /** Calls of earlier turns that the user has approved: they run before the model is asked. */
  readonly approved: readonly ApprovedCall[];
  /** Begins to count the rounds of tools; running one rejects only when the turn is aborted. */
  readonly beginRounds: () => ToolRounds<PendingToolCall>;
}

/** What goes into the machine, batch by batch. */
export type Inputs = AsyncIterable<readonly TurnInput[]>;

/** The one answer of a model that has no tools of ours: there is no second request, so the first is not held to the end. */
export function soleAnswer({ upstream, takeRequest, call }: Loop): Inputs {
  return upstream.stream(takeRequest(), call);
}

/**
 * Yields the model's words and the results of tools as sources, each to be read to its end, until the model answers
 * without calling a tool of ours, calls one of the client's, or meets a limit. N rounds are exactly N model calls.
 * `current` answers the machine's state after all that was read.
 */
export async function* turnSources(loop: Loop, current: () => TurnState): AsyncGenerator<Inputs, void> {
  const introduced = introducer(loop);
  const rounds = loop.beginRounds();
  let request = loop.takeRequest();

  /** Runs what waits. Answers what was written since `before` as the model must see it, or nothing where the turn ends. */
  async function* ran(before: number): AsyncGenerator<Inputs, readonly Item[] | undefined> {
    const pending = current().pending.values();
    const outputs = new Map<number, ToolOutput>();
    yield resultsOf(rounds, pending, outputs);
    if (rounds.stopped()) return undefined;
    const written = current().output.from(before);
    const ours = new Map(pending.map((call) => [call.id, call]));
    if (written.some((item) => isClients(item, ours))) return undefined;
    return loop.opened(modelView(written, ours, outputs));
  }

  if (loop.approved.length > 0) {
    const calls = loop.approved.map((call): TurnInput => ({ type: 'call-approved', ...call }));
    // They are of an earlier model call, so what the model says next is no part of it.
    yield introduced(only([...calls, { type: 'finish', reason: 'stop' }]));
    const written = yield* ran(0);
    if (!written) return;
    request = { ...request, items: [...request.items, ...written] };
  }
  for (;;) {
    const before = current().output.size;
    yield introduced(loop.upstream.stream(request, loop.call));
    if (current().pending.size === 0 || isCutOff(current())) return;
    const written = yield* ran(before);
    if (!written) return;
    request = nextRequest(request, written, rounds.circling());
  }
}

/** Runs the calls, and notes what came of each. */
async function* resultsOf(
  rounds: ToolRounds<PendingToolCall>,
  pending: readonly PendingToolCall[],
  outputs: Map<number, ToolOutput>,
): AsyncGenerator<readonly TurnInput[]> {
  for await (const { call, outcome } of rounds.run(pending)) {
    outputs.set(call.index, outcome.output);
    yield [{ type: 'tool-result', index: call.index, ...outcome }];
  }
  const reason = rounds.stopped();
  if (reason) yield [{ type: 'stop', reason }];
}

/**
 * Puts the lists of servers that the request names in front of everything, and that of another server before the first
 * call of one of its tools: a client whose conversation never needs them is not bothered with tools that it did not bring.
 */
function introducer({ plan, lists, named }: Loop): (source: Inputs) => Inputs {
  const unknown = new Map(lists);
  let begun = false;
  const listed = (server: string): readonly TurnInput[] => {
    const tools = unknown.get(server);
    unknown.delete(server);
    return tools ? [{ type: 'tools-listed', server, tools }] : [];
  };
  const introduced = (batch: readonly TurnInput[]): readonly TurnInput[] => {
    if (begun && (unknown.size === 0 || !batch.some(beginsCall))) return batch;
    const first = begun ? [] : [...named].flatMap(listed);
    begun = true;
    return [...first, ...batch.flatMap((event) => [...listed(serverOf(event, plan)), event])];
  };
  return (source) => (unknown.size === 0 ? source : mapped(source, { map: introduced }));
}

function beginsCall(event: TurnInput): event is TurnInput & { readonly name: string } {
  return event.type === 'call-approved' || (event.type === 'tool-call-delta' && event.name !== undefined);
}

/** The server whose tool is called here; none has an empty name. */
function serverOf(event: TurnInput, { owners, allowedTools }: Loop['plan']): string {
  if (!beginsCall(event) || (event.type === 'tool-call-delta' && allowedTools?.has(event.name) === false)) return '';
  return owners.get(event.name)?.server ?? '';
}

/** Whether the client must act before the model can go on: run a call, or approve one. */
function isClients(item: OutputItem, ours: ReadonlyMap<string, PendingToolCall>): boolean {
  if (item.type === 'mcp_approval_request') return true;
  return toolCallKind(item)?.runBy === 'client' && !ours.has(item.id);
}

/** What was written as the model must see it: its own call ids, and results with their images. */
function modelView(
  written: readonly OutputItem[],
  ours: ReadonlyMap<string, PendingToolCall>,
  outputs: ReadonlyMap<number, ToolOutput>,
): readonly Item[] {
  return written.map((item): Item => {
    const call = ours.get(item.id);
    if (!call || toolCallKind(item)?.runBy !== 'server') return item;
    return { ...item, name: call.name, call_id: call.callId, output: outputs.get(call.index) };
  });
}

/** A forced choice holds for the first call only, or the model could never answer. */
function nextRequest(request: ModelRequest, written: readonly Item[], circling: boolean): ModelRequest {
  const { toolChoice, ...rest } = request;
  const free = toolChoice === undefined || toolChoice === 'none' ? toolChoice : 'auto';
  const choice = circling ? 'none' : free;
  return { ...rest, items: [...request.items, ...written], ...(choice === undefined ? {} : { toolChoice: choice }) };
}
