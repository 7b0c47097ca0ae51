/** What goes into a turn's machine: the model's words, the results of the tools we run, and the model again. */
import type { Item, OutputItem, ToolOutput } from '../items.ts';
import { type RoundLimits, toolRounds } from '../tools/rounds.ts';
import type { CallOutcome } from '../tools/run-call.ts';
import type { ModelRequest, Upstream, UpstreamCall } from '../upstream/upstream.ts';
import type { TurnInput } from './events.ts';
import type { TurnState, WaitingCall } from './state.ts';

/** What the loop needs of a turn. */
export interface Loop {
  readonly request: ModelRequest;
  readonly upstream: Upstream;
  readonly call: UpstreamCall;
  readonly limits: RoundLimits;
  /** Runs one call; rejects only when the turn is aborted. */
  readonly runCall: (call: WaitingCall) => Promise<CallOutcome>;
}

/**
 * Yields until the model answers without calling a tool of ours, calls one of the client's, or meets a limit. N rounds
 * are exactly N model calls. `current` answers the machine's state after all that was yielded.
 */
export async function* turnInputs(loop: Loop, current: () => TurnState): AsyncGenerator<readonly TurnInput[]> {
  const rounds = toolRounds<WaitingCall>(loop.limits, loop.runCall);
  let { request } = loop;
  for (;;) {
    const before = current().output.length;
    yield* loop.upstream.stream(request, loop.call);
    const { waiting } = current();
    if (waiting.length === 0) return;

    const outputs = new Map<number, ToolOutput>();
    for await (const { call, outcome } of rounds.run(waiting)) {
      outputs.set(call.index, outcome.output);
      yield [{ type: 'tool-result', index: call.index, ...outcome }];
    }
    if (rounds.stopped) return yield [{ type: 'stop', reason: rounds.stopped }];
    const written = current().output.slice(before);
    if (written.some((item) => isClients(item, waiting))) return;
    request = nextRequest(request, modelView(written, waiting, outputs), rounds.circling);
  }
}

/** Whether the item is a call that the client must run. */
function isClients(item: OutputItem, ours: readonly WaitingCall[]): boolean {
  return item.type === 'function_call' && !ours.some(({ id }) => id === item.id);
}

/** What was written as the model must see it: its own call ids, and results with their images. */
function modelView(
  written: readonly OutputItem[],
  waiting: readonly WaitingCall[],
  outputs: ReadonlyMap<number, ToolOutput>,
): readonly Item[] {
  return written.map((item): Item => {
    const call = waiting.find(({ id }) => id === item.id);
    if (!call || item.type !== 'mcp_call') return item;
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
