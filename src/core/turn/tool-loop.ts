/** What goes into a turn's machine: the model's words, the results of the tools we run, and the model again. */
import type { Item, ListedTool, OutputItem, ToolOutput } from '../items.ts';
import { mapped } from '../pieces.ts';
import { type RoundLimits, type ToolRounds, toolRounds } from '../tools/rounds.ts';
import type { CallOutcome } from '../tools/run-call.ts';
import type { ModelRequest, Upstream, UpstreamCall } from '../upstream/upstream.ts';
import type { ModelEvent, TurnInput } from './events.ts';
import { isCutOff, type TurnPlan, type TurnState, type WaitingCall } from './state.ts';

/** What the loop needs of a turn. */
export interface Loop {
  readonly request: ModelRequest;
  readonly upstream: Upstream;
  readonly call: UpstreamCall;
  readonly limits: RoundLimits;
  readonly plan: Pick<TurnPlan, 'owners' | 'allowedTools'>;
  /** The tools of each server that the client has not been told of yet. */
  readonly lists: ReadonlyMap<string, readonly ListedTool[]>;
  /** Runs one call; rejects only when the turn is aborted. */
  readonly runCall: (call: WaitingCall) => Promise<CallOutcome>;
}

/** What goes into the machine, batch by batch. */
export type Inputs = AsyncIterable<readonly TurnInput[]>;

/**
 * Yields the model's words and the results of tools as sources, each to be read to its end, until the model answers
 * without calling a tool of ours, calls one of the client's, or meets a limit. N rounds are exactly N model calls.
 * `current` answers the machine's state after all that was read.
 */
export async function* turnSources(loop: Loop, current: () => TurnState): AsyncGenerator<Inputs, void> {
  const rounds = toolRounds<WaitingCall>(loop.limits, loop.runCall);
  const introduced = introducer(loop);
  let { request } = loop;
  for (;;) {
    const before = current().output.length;
    yield introduced(loop.upstream.stream(request, loop.call));
    const { waiting } = current();
    if (waiting.length === 0 || isCutOff(current())) return;

    const outputs = new Map<number, ToolOutput>();
    yield resultsOf(rounds, waiting, outputs);
    if (rounds.stopped) return;
    const written = current().output.slice(before);
    if (written.some((item) => isClients(item, waiting))) return;
    request = nextRequest(request, modelView(written, waiting, outputs), rounds.circling);
  }
}

/** Runs the calls, and notes what came of each. */
async function* resultsOf(
  rounds: ToolRounds<WaitingCall>,
  waiting: readonly WaitingCall[],
  outputs: Map<number, ToolOutput>,
): AsyncGenerator<readonly TurnInput[]> {
  for await (const { call, outcome } of rounds.run(waiting)) {
    outputs.set(call.index, outcome.output);
    yield [{ type: 'tool-result', index: call.index, ...outcome }];
  }
  if (rounds.stopped) yield [{ type: 'stop', reason: rounds.stopped }];
}

/**
 * Puts the list of a server's tools before the first call of one: a client whose conversation never needs them is not
 * bothered with tools that it did not bring.
 */
function introducer({ plan, lists }: Loop): (source: AsyncIterable<readonly ModelEvent[]>) => Inputs {
  const unknown = new Map(lists);
  const introduced = (batch: readonly ModelEvent[]): readonly TurnInput[] => {
    if (unknown.size === 0 || !batch.some(beginsCall)) return batch;
    return batch.flatMap((event) => {
      const name = beginsCall(event) && plan.allowedTools?.has(event.name) !== false ? event.name : '';
      const server = plan.owners.get(name)?.server ?? '';
      const tools = unknown.get(server);
      if (!tools) return [event];
      unknown.delete(server);
      return [{ type: 'tools-listed', server, tools }, event];
    });
  };
  return (source) => (unknown.size === 0 ? source : mapped(source, { map: introduced }));
}

function beginsCall(event: ModelEvent): event is ModelEvent & { readonly name: string } {
  return event.type === 'tool-call-delta' && event.name !== undefined;
}

/** Whether the item is a call that the client must run. */
function isClients(item: OutputItem, ours: readonly WaitingCall[]): boolean {
  const isCall = item.type === 'function_call' || item.type === 'custom_tool_call';
  return isCall && !ours.some(({ id }) => id === item.id);
}

/** What was written as the model must see it: its own call ids, and results with their images. */
function modelView(
  written: readonly OutputItem[],
  waiting: readonly WaitingCall[],
  outputs: ReadonlyMap<number, ToolOutput>,
): readonly Item[] {
  return written.map((item): Item => {
    const call = waiting.find(({ id }) => id === item.id);
    if (!call || (item.type !== 'mcp_call' && item.type !== 'code_interpreter_call')) return item;
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
