/** What goes into a turn's machine: the model's words, the results of the tools we run, and the model again. */

import type { Item, OutputItem, ToolOutput } from '../items.ts';
import type { Limits } from '../limits.ts';
import type { CallOutcome } from '../tools/run-call.ts';
import type { ModelRequest, Upstream, UpstreamCall } from '../upstream/upstream.ts';
import type { TurnInput } from './events.ts';
import type { TurnState, WaitingCall } from './state.ts';

/** What the loop needs of a turn. */
export interface Loop {
  readonly request: ModelRequest;
  readonly upstream: Upstream;
  readonly call: UpstreamCall;
  readonly limits: Pick<Limits, 'toolIterations' | 'toolCalls' | 'parallelTools' | 'repeatedCalls'>;
  /** Runs one call; rejects only when the turn is aborted. */
  readonly runCall: (call: WaitingCall) => Promise<CallOutcome>;
}

/**
 * Yields until the model answers without calling a tool of ours, calls one of the client's, or meets a limit. N rounds
 * are exactly N model calls. `current` answers the machine's state after all that was yielded.
 */
export async function* turnInputs(loop: Loop, current: () => TurnState): AsyncGenerator<readonly TurnInput[]> {
  const repeats = repeatCounter();
  let { request } = loop;
  for (let round = 1, ran = 0; ; round += 1) {
    const before = current().output.length;
    yield* loop.upstream.stream(request, loop.call);
    const { waiting } = current();
    if (waiting.length === 0) return;

    const room = round > loop.limits.toolIterations ? 0 : Math.max(0, loop.limits.toolCalls - ran);
    const outcomes = new Map<number, ToolOutput>();
    for await (const { call, outcome } of runAll(waiting, room, loop)) {
      const told = repeats(call, outcome, loop.limits.repeatedCalls);
      outcomes.set(call.index, told.output);
      yield [{ type: 'tool-result', index: call.index, ...told }];
    }
    ran += waiting.length;
    if (round > loop.limits.toolIterations) return yield [{ type: 'stop', reason: 'max_tool_iterations' }];
    if (waiting.length > room) return yield [{ type: 'stop', reason: 'max_tool_calls' }];
    const written = current().output.slice(before);
    if (written.some((item) => isClients(item, waiting))) return;
    request = nextRequest(request, modelView(written, waiting, outcomes), repeats.exceeded());
  }
}

interface Ran {
  readonly call: WaitingCall;
  readonly outcome: CallOutcome;
}

/** The calls there is room for, side by side, their results in the order of the calls; then those that may not run. */
async function* runAll(calls: readonly WaitingCall[], room: number, { limits, runCall }: Loop): AsyncGenerator<Ran> {
  const slots = limiter(limits.parallelTools);
  const running = calls.slice(0, room).map((call) => ({ call, pending: slots(() => runCall(call)) }));
  // Each is awaited in its turn; until then its failure is not unhandled.
  for (const { pending } of running) pending.catch(() => {});
  for (const { call, pending } of running) yield { call, outcome: await pending };
  for (const call of calls.slice(room)) yield { call, outcome: NOT_RUN };
}

const NOT_RUN: CallOutcome = { output: 'Not run: the limit of tool calls for this response is reached.', failed: true };

/** At most so many at the same time. */
function limiter(size: number): <T>(task: () => Promise<T>) => Promise<T> {
  const queue: (() => void)[] = [];
  let free = size;
  return async (task) => {
    if (free === 0) await new Promise<void>((resolve) => queue.push(resolve));
    else free -= 1;
    try {
      return await task();
    } finally {
      const next = queue.shift();
      if (next) next();
      else free += 1;
    }
  };
}

/** Notices the same call with the same result again and again, which no model ends by itself. */
function repeatCounter() {
  let last = '';
  let count = 0;
  let exceeded = false;

  function told(call: WaitingCall, outcome: CallOutcome, limit: number): CallOutcome {
    const signature = JSON.stringify([call.name, call.arguments, outcome.output]);
    count = signature === last ? count + 1 : 1;
    last = signature;
    if (count < limit) return outcome;
    exceeded = true;
    return { ...outcome, output: withNote(outcome.output, repeatNote(call.name, count)) };
  }
  return Object.assign(told, { exceeded: () => exceeded });
}

function repeatNote(name: string, count: number): string {
  return `(${name} was called ${count} times in a row with the same arguments and the same result. Answer without tools.)`;
}

function withNote(output: ToolOutput, note: string): ToolOutput {
  return typeof output === 'string' ? `${output}\n${note}` : [...output, { type: 'input_text', text: note }];
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
function nextRequest(request: ModelRequest, written: readonly Item[], toolsOver: boolean): ModelRequest {
  const { toolChoice, ...rest } = request;
  const free = toolChoice === undefined || toolChoice === 'none' ? toolChoice : 'auto';
  const choice = toolsOver ? 'none' : free;
  return { ...rest, items: [...request.items, ...written], ...(choice === undefined ? {} : { toolChoice: choice }) };
}
