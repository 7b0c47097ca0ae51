/** Passes a request on to the model server, and its answer back, where no call of the model is the server's to run or to refuse. */

import { lacksCallNote } from '../../engine/turn/call-permission.ts';
import { step } from '../../engine/turn/machine.ts';
import { startState, type TurnState } from '../../engine/turn/state.ts';
import type { ChatBatch } from '../../ports/upstream.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import { inTurn, type Mapping, mapped, only, type PullStream } from '../../streams/pull-stream.ts';
import { DONE_FRAME } from '../../streams/sse-frames.ts';
import type { ChatAnswer, PreparedChat } from './chat-request.ts';
import { closingReason, wholeCompletion } from './closing.ts';
import { addAnswer, type Completion, closingFrames, dataFrame } from './completion.ts';
import { ChatEncoder } from './encoder.ts';
import { ModelAnswer } from './model-answer.ts';
import { demandsCall } from './prepare-tools.ts';

/** One request that is passed on. */
export class PassThrough implements ChatAnswer, Mapping<ChatBatch, string> {
  readonly completion: Completion;
  private readonly chat: PreparedChat;
  private readonly answer: ModelAnswer;
  private readonly encoder: ChatEncoder;
  /** Puts interleaved calls in order; of text it need not know before there are any. */
  private state: TurnState;
  private hasCalls = false;
  private isOpen = false;
  private failure: unknown = undefined;

  constructor(chat: PreparedChat) {
    const { completion, limits, wantsWhole, callRules } = chat;
    this.chat = chat;
    this.completion = completion;
    this.answer = new ModelAnswer(completion, { holdsCalls: false, keepsFields: wantsWhole, limits });
    this.encoder = new ChatEncoder(completion);
    const { outputBytes, argumentBytes } = limits;
    const nothingOwned = { owners: new Map<never, never>(), ownedAs: 'mcp_call', queuedEvent: false } as const;
    const plan = { seed: '', reasoning: 'reasoning_text', ...nothingOwned, ...callRules } as const;
    this.state = startState({ ...plan, outputBytes, argumentBytes });
  }

  /** The model server's own bytes; an object made of its chunks if it streamed all the same. */
  async whole(): Promise<string> {
    const { chat, answer, completion } = this;
    const events: ModelEvent[] = [];
    for await (const batch of chat.send(chat.body, chat.call)) answer.take(batch, events);
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
    return inTurn(this.sources());
  }

  private async *sources(): AsyncGenerator<AsyncIterable<string>, void> {
    const { chat } = this;
    yield mapped(chat.send(chat.body, chat.call), this);
    // Before the last frame, or a quick client would not find it.
    await chat.record?.keep();
    yield only(DONE_FRAME);
  }

  map({ whole, data, server }: ChatBatch): string | undefined {
    if (server !== undefined) this.completion.server = server;
    let frames = '';
    try {
      for (const each of data) {
        if (!whole && !this.hasCalls && this.answer.takePlainText(each)) frames += dataFrame(each);
        else frames += this.orderedFrames({ whole, data: [each] });
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

  goesOn(): boolean {
    if (this.failure) throw this.failure;
    return true;
  }

  end(): string | undefined {
    const { answer, completion } = this;
    const events: ModelEvent[] = [];
    answer.end(events);
    let frames = this.framesOf(events);
    this.endAnswer();
    const share = { calls: answer.calls, hasResults: false, isStopped: false };
    if (completion.isRewritten) frames += closingFrames(completion, closingReason(answer, share));
    this.chat.record?.takeFrames(frames);
    return frames || undefined;
  }

  private orderedFrames(batch: ChatBatch): string {
    const events: ModelEvent[] = [];
    this.answer.take(batch, events);
    this.hasCalls ||= events.some((event) => event.type === 'raw' && event.call !== undefined);
    return this.framesOf(events);
  }

  private framesOf(inputs: readonly ModelEvent[]): string {
    const [state, events] = step(this.state, inputs);
    this.state = state;
    const frames = this.encoder.frames(events);
    this.failure ??= this.encoder.failure;
    return frames;
  }

  private endAnswer(): void {
    const { answer, chat, completion } = this;
    addAnswer(completion, answer.text, answer.usage);
    if (demandsCall(chat.body) && answer.calls.length === 0 && !answer.isCutOff)
      chat.call.note(lacksCallNote(chat.callRules));
  }
}
