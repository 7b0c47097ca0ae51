/** Passes a request on to the model server, and its answer back, where no call of the model is the server's to run or to refuse. */

import { lacksCallNote } from '../../engine/turn/machine/call-permission.ts';
import { step } from '../../engine/turn/machine/machine.ts';
import { plainPlan, startState, type TurnState } from '../../engine/turn/machine/state.ts';
import type { ChatBatch } from '../../ports/upstream.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import { type Mapping, mapStream, type PullStream, pullInTurn, singleChunkStream } from '../../streams/pull-stream.ts';
import { DONE_FRAME } from '../../streams/sse-frames.ts';
import { streamUntilAborted } from '../../streams/until-aborted-stream.ts';
import { closingReason, wholeCompletion } from './answer/closing.ts';
import { addAnswer, type Completion, closingFrames, dataFrame, passedFrame } from './answer/completion.ts';
import { ChatEncoder } from './answer/encoder.ts';
import { ModelAnswer } from './answer/model-answer.ts';
import type { ChatAnswer, PreparedChat } from './chat-request.ts';
import { bodyChoice } from './request/prepare-tools.ts';

/** One request that is passed on. */
export class PassThrough implements ChatAnswer, Mapping<ChatBatch, string> {
  readonly completion: Completion;
  private readonly chat: PreparedChat;
  private readonly answer: ModelAnswer;
  /** Puts interleaved calls in order; an answer without calls needs none. */
  private order: ChunkOrder | undefined = undefined;
  private isOpen = false;
  private failure: unknown = undefined;

  constructor(chat: PreparedChat) {
    const { completion, limits, wantsWhole } = chat;
    this.chat = chat;
    this.completion = completion;
    this.answer = new ModelAnswer(completion, { holdsCalls: false, keepsFields: wantsWhole, limits });
  }

  /** The model server's own bytes; an object made of its chunks if it streamed all the same. */
  async whole(): Promise<string> {
    const { chat, answer, completion } = this;
    const events: ModelEvent[] = [];
    for await (const batch of this.batches()) answer.take(batch, events);
    answer.end(events);
    this.endAnswer();
    const share = { calls: answer.calls, hasResults: false, isStopped: false };
    const text = answer.wholeText ?? JSON.stringify(wholeCompletion(completion, answer, share));
    chat.record?.takeWhole(text);
    await chat.record?.keep();
    return text;
  }

  /** The frames of the stream. */
  frames(): PullStream<string> {
    const { chat } = this;
    const frames = mapStream(this.batches(), this);
    return chat.record ? pullInTurn(this.keptFrames(frames, chat.record)) : frames;
  }

  /** What the model server sends, or until the turn is over: an upstream of the host's may not heed the signal. */
  private batches(): PullStream<ChatBatch> {
    const { send, body, call } = this.chat;
    return streamUntilAborted(send(body, call), call.signal);
  }

  private async *keptFrames(
    frames: AsyncIterable<string>,
    record: NonNullable<PreparedChat['record']>,
  ): AsyncGenerator<AsyncIterable<string>, void> {
    yield frames;
    // Before the last frame, or a quick client would not find it.
    await record.keep();
    yield singleChunkStream(DONE_FRAME);
  }

  map({ whole, data, server }: ChatBatch): string | undefined {
    if (server !== undefined) this.completion.server = server;
    let frames = '';
    try {
      for (const each of data) {
        if (!whole && !this.order && this.answer.takePlainText(each)) frames += dataFrame(each);
        else {
          const events: ModelEvent[] = [];
          this.answer.take({ whole, data: [each] }, events);
          frames += this.chunkFrames(events);
        }
      }
    } catch (failure) {
      // Output before it in the same batch still counts.
      this.failure = failure;
    }
    this.chat.record?.takeFrames(frames);
    // An empty piece opens the client's stream; more of them would only suppress heartbeats.
    const isFirst = !this.isOpen && !this.failure;
    this.isOpen = true;
    return frames !== '' || isFirst ? frames : undefined;
  }

  shouldContinue(): boolean {
    if (this.failure) throw this.failure;
    return true;
  }

  end(): string | undefined {
    const { answer, completion } = this;
    const events: ModelEvent[] = [];
    answer.end(events);
    let frames = this.chunkFrames(events);
    this.endAnswer();
    const share = { calls: answer.calls, hasResults: false, isStopped: false };
    if (completion.isRewritten) frames += closingFrames(completion, closingReason(answer, share, completion.isLegacy));
    const { record } = this.chat;
    if (!record) return frames + DONE_FRAME;
    record.takeFrames(frames);
    return frames || undefined;
  }

  /** The frames of chunks, behind what was read from them. */
  private chunkFrames(events: readonly ModelEvent[]): string {
    const { completion } = this;
    if (
      !this.order &&
      (completion.isRewritten || events.some((event) => event.type === 'raw' && event.call !== undefined))
    )
      this.order = new ChunkOrder(completion, this.chat.limits);
    if (this.order) {
      const frames = this.order.frames(events);
      this.failure ??= this.order.failure;
      return frames;
    }
    let frames = '';
    for (const event of events)
      if (event.type === 'raw' && event.chunk) frames += passedFrame(completion, event.data, event.chunk);
    return frames;
  }

  private endAnswer(): void {
    const { answer, chat, completion } = this;
    addAnswer(completion, answer);
    const choice = bodyChoice(chat.body);
    const demandsCall = choice !== undefined && choice !== 'none' && choice !== 'auto';
    if (demandsCall && answer.calls.length === 0 && !answer.isCutOff) chat.call.note(lacksCallNote(chat.callRules));
  }
}

/** The chunks of an answer as the machine orders them: one call after another. All calls are the client's. */
class ChunkOrder {
  private readonly encoder: ChatEncoder;
  private state: TurnState;

  constructor(completion: Completion, limits: PreparedChat['limits']) {
    this.encoder = new ChatEncoder(completion);
    this.state = startState(plainPlan(limits, 'reasoning_text', ''));
  }

  get failure(): unknown {
    return this.encoder.failure;
  }

  frames(inputs: readonly ModelEvent[]): string {
    const [state, events] = step(this.state, inputs);
    this.state = state;
    return this.encoder.frames(events);
  }
}
