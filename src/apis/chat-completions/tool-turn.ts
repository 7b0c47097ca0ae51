/** A chat completion as a turn of the engine: the server runs tools, or refuses calls, before the client has its answer. */

import { toolRounds } from '../../engine/tools/rounds.ts';
import { toolOwners } from '../../engine/tools/toolset.ts';
import { refusalNote } from '../../engine/turn/machine/call-permission.ts';
import type { PendingToolCall } from '../../engine/turn/machine/state.ts';
import { failedTurn, turnApiError } from '../../engine/turn/observe.ts';
import { readTurnEnd, runTurn, type Turn } from '../../engine/turn/run-turn.ts';
import type { TurnEnd, TurnEvent } from '../../protocol/events.ts';
import { wholeText } from '../../protocol/grown-text.ts';
import { randomSeed } from '../../protocol/ids.ts';
import type { ToolCallResult } from '../../protocol/items.ts';
import { unixSeconds } from '../../protocol/reply.ts';
import { type Mapping, mapStream, type PullStream } from '../../streams/pull-stream.ts';
import { DONE_FRAME } from '../../streams/sse-frames.ts';
import { type ClientShare, closingReason, wholeCompletion } from './answer/closing.ts';
import { addImage, type Completion, closingFrames } from './answer/completion.ts';
import { ChatEncoder, CLIENT_ITEMS } from './answer/encoder.ts';
import { ChatModel } from './chat-model.ts';
import type { ChatAnswer, PreparedChat } from './chat-request.ts';
import type { ServerCalls } from './server-calls.ts';

/** The reasons for which the server does not call the model again. */
const STOPPED: ReadonlySet<TurnEnd['reason']> = new Set([
  'max_tool_iterations',
  'max_tool_calls',
  'repeated_tool_calls',
] as const);

/** One completion. */
export class ToolTurn implements ChatAnswer, Mapping<readonly TurnEvent[], string> {
  readonly completion: Completion;
  private readonly chat: PreparedChat;
  private readonly server: ServerCalls;
  private readonly model: ChatModel;
  private readonly encoder: ChatEncoder;
  private hasRefusals = false;
  /** What the client receives at the end: the last frames, or the whole completion. */
  private closing = '';

  constructor(chat: PreparedChat, server: ServerCalls) {
    const { body, completion, send, limits } = chat;
    this.chat = chat;
    this.server = server;
    this.completion = completion;
    this.model = new ChatModel(body, completion, send, { holdsCalls: true, keepsFields: true, limits });
    this.encoder = new ChatEncoder(completion);
  }

  /** The completion as JSON text: the model server's own if all of it is the client's. */
  async whole(): Promise<string> {
    const end = await readTurnEnd(runTurn(this.turn((end) => this.closeWhole(end))));
    if (end.error) throw failedTurn(this.model.failure ?? turnApiError(end.error), end.output);
    return this.closing;
  }

  /** The frames of the stream. */
  frames(): PullStream<string> {
    return mapStream(runTurn(this.turn((end) => this.closeStream(end))), this);
  }

  map(events: readonly TurnEvent[]): string | undefined {
    const frames = this.encoder.frames(events);
    this.chat.record?.takeFrames(frames);
    const { failure } = this.encoder;
    if (events.at(-1)?.type === 'turn-end' && !failure) return frames + this.closing + DONE_FRAME;
    // An empty piece opens the client's stream; more of them would only suppress heartbeats.
    const isFirst = events[0]?.type === 'turn-start' && !failure;
    return frames !== '' || isFirst ? frames : undefined;
  }

  shouldContinue(): boolean {
    if (this.encoder.failure) throw this.model.failure ?? this.encoder.failure;
    return true;
  }

  private turn(keep: Turn['keep']): Turn {
    const { model, chat, server } = this;
    const { call, limits, callRules } = chat;
    const { outputBytes, argumentBytes } = limits;
    return {
      plan: {
        ...callRules,
        seed: randomSeed(),
        reasoning: 'reasoning_text',
        owners: toolOwners(server.toolset),
        ownedAs: 'mcp_call',
        queuedEvent: false,
        outputBytes,
        argumentBytes,
        repeatsCallIds: true,
      },
      takeRequest: () => model.request(),
      upstream: model,
      opened: (items) => items,
      call,
      passesChunks: true,
      lists: new Map(),
      named: new Set(),
      deferred: server.deferred,
      approved: [],
      onResult: (called, result) => this.takeResult(called, result),
      beginRounds: () => toolRounds<PendingToolCall>(limits, server.runCall),
      // Its frames are watched instead: of a call that is the server's the client receives nothing.
      silence: { openAfterMs: undefined, intervalMs: undefined },
      heartbeatComments: true,
      now: unixSeconds,
      keep,
      onEvents: (events) => this.noteEvents(events),
      startsAtOnce: false,
      leave: () => {},
    };
  }

  private takeResult({ callId }: PendingToolCall, { output }: ToolCallResult): void {
    const { answer, results } = this.model;
    const call = answer.call(callId);
    if (call) results.push({ call, output });
  }

  private noteEvents(events: readonly TurnEvent[]): void {
    for (const event of events) {
      if (event.type !== 'call-dropped' || event.why === 'cut_off') continue;
      this.hasRefusals = true;
      this.chat.call.note(refusalNote(event.name, event.why));
    }
  }

  private async closeStream(end: TurnEnd): Promise<void> {
    const { completion, chat, model } = this;
    model.endAnswer();
    const share = this.clientShare(end);
    if (completion.isRewritten || share.isStopped)
      this.closing = closingFrames(completion, closingReason(model.answer, share, completion.isLegacy));
    chat.record?.takeFrames(this.closing);
    await this.keep(share);
  }

  private async closeWhole(end: TurnEnd): Promise<void> {
    const { completion, chat, model } = this;
    const { answer } = model;
    model.endAnswer();
    const share = this.clientShare(end);
    for (const item of end.output) addImage(completion, item);
    const isUntouched = model.isFirst && !this.hasRefusals && end.output.every(({ type }) => CLIENT_ITEMS.has(type));
    this.closing =
      (isUntouched ? answer.wholeText : undefined) ?? JSON.stringify(wholeCompletion(completion, answer, share));
    chat.record?.takeWhole(this.closing);
    await this.keep(share);
  }

  /** Stores what the client cannot send back: it has not seen the server-run calls, nor the answers before the last. */
  private async keep({ calls }: ClientShare): Promise<void> {
    const { completion, model, server, chat } = this;
    const before = model.earlierMessages;
    const hasMore = before.length > 0 || model.results.length > 0;
    // A legacy call has no id under which anything could be stored.
    if (calls.length > 0 && !completion.isLegacy && hasMore) {
      const { messages } = chat.body;
      const round = { messages, before, text: wholeText(model.answer.text), clients: calls, answered: model.results };
      await server.keepResults(round);
    }
    await chat.record?.keep();
  }

  private clientShare({ output, reason }: TurnEnd): ClientShare {
    const { answer, results } = this.model;
    const ids = new Set(output.flatMap((item) => (item.type === 'function_call' ? [item.call_id] : [])));
    // Only the last answer may hold calls of the client's.
    const calls = answer.calls.filter(({ id }) => ids.has(id));
    return { calls, hasResults: results.length > 0, isStopped: STOPPED.has(reason) };
  }
}
