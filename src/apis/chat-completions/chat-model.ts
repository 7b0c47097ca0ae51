/** The model server as the engine calls it in a chat completion: with the client's own body, and what the turn has added to it. */

import type { ChatBatch, UpstreamCall } from '../../ports/upstream.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import type { ModelRequest, ToolChoice } from '../../protocol/model-request.ts';
import { BatchReader } from '../../streams/batch-reader.ts';
import { mapStream } from '../../streams/pull-stream.ts';
import { addAnswer, type Completion } from './answer/completion.ts';
import { type AnswerRules, ModelAnswer } from './answer/model-answer.ts';
import {
  type AnsweredChatCall,
  answerMessages,
  bodyWithMessages,
  bodyWithTools,
  toollessBody,
  unforcedBody,
} from './answer/next-body.ts';
import { bodyChoice, bodyWithDefinitions, toolNames } from './request/prepare-tools.ts';
import type { ChatBody } from './request/schema.ts';

/** Sends a body to the model server. */
export type SendChat = (body: ChatBody, call: UpstreamCall) => AsyncIterable<ChatBatch>;

/** The model calls of one turn. */
export class ChatModel {
  readonly completion: Completion;
  /** The newest answer. */
  answer: ModelAnswer;
  /** Why the newest answer broke off. */
  failure: unknown = undefined;
  /** The calls of the newest answer that ran, with their results. */
  results: AnsweredChatCall[] = [];
  private body: ChatBody;
  private readonly first: ChatBody;
  private readonly send: SendChat;
  private readonly rules: AnswerRules;
  /** How many items of the request are in the body, and the choice that the body makes. */
  private itemCount = 0;
  private choice: ToolChoice | undefined;
  /** What the body offers, as the engine named it last. */
  private offered: ModelRequest['tools'] = [];
  private calls = 0;

  constructor(body: ChatBody, completion: Completion, send: SendChat, rules: AnswerRules) {
    this.body = body;
    this.first = body;
    this.choice = bodyChoice(body);
    this.completion = completion;
    this.send = send;
    this.rules = rules;
    this.answer = new ModelAnswer(completion, rules);
  }

  /** The messages of the turn before the newest answer. */
  get earlierMessages(): ChatBody['messages'] {
    return this.body.messages.slice(this.first.messages.length);
  }

  /** Whether the model has been called once only. */
  get isFirst(): boolean {
    return this.calls <= 1;
  }

  /** The request as the engine knows it: the names of the tools, and the choice. The messages stay in the body. */
  request(): ModelRequest {
    const { choice: toolChoice } = this;
    this.offered = [...toolNames(this.first)].map((name) => ({ name }));
    return {
      model: this.first.model,
      items: [],
      tools: this.offered,
      ...(toolChoice === undefined ? {} : { toolChoice }),
    };
  }

  /** Calls the model. The events of its answer are followed by the chunks that they came in. */
  stream(request: ModelRequest, call: UpstreamCall): AsyncIterable<readonly ModelEvent[]> {
    this.calls += 1;
    if (this.calls > 1) this.beginNext(request);
    return mapStream(this.send(this.body, call), new AnswerEvents(this));
  }

  /** Counts the newest answer as a part of the completion. */
  endAnswer(): void {
    addAnswer(this.completion, this.answer);
  }

  private beginNext(request: ModelRequest): void {
    const { answer, completion } = this;
    this.endAnswer();
    const refusals = request.items.slice(this.itemCount).flatMap(({ type, call_id: id, output }) => {
      const call = type === 'function_call_output' ? answer.call(id) : undefined;
      return call && typeof output === 'string' ? [{ call, output }] : [];
    });
    const answered = [...this.results, ...refusals];
    const messages = answerMessages(answer, answered, completion.isLegacy);
    const body = bodyWithMessages(this.body, messages);
    const next = request.tools === this.offered ? body : withOfferedTools(body, request);
    if (request.toolChoice === this.choice) this.body = next;
    else this.body = request.toolChoice === 'none' ? toollessBody(next) : unforcedBody(next);
    this.itemCount = request.items.length;
    this.choice = request.toolChoice;
    this.offered = request.tools;
    this.results = [];
    this.answer = new ModelAnswer(completion, this.rules);
    completion.isContinued = true;
    completion.isRewritten = false;
  }
}

/** The body with the tools that the engine offers. */
function withOfferedTools(body: ChatBody, { tools }: ModelRequest): ChatBody {
  const names = new Set(tools.map(({ name }) => name));
  const isRestricted = [...toolNames(body)].some((name) => !names.has(name));
  const offered = isRestricted ? bodyWithTools(body, (name) => names.has(name)) : body;
  // Of all but the tools that the model has found the body has its own definitions.
  return bodyWithDefinitions(offered, tools);
}

/** Reads the batches of one answer. */
class AnswerEvents extends BatchReader<ChatBatch> {
  private readonly model: ChatModel;

  constructor(model: ChatModel) {
    super();
    this.model = model;
  }

  override map(batch: ChatBatch): ModelEvent[] | undefined {
    const events = super.map(batch) ?? [];
    // What fails before any output has a status of its own.
    return this.failure === undefined || events.some(({ type }) => type === 'raw') ? events : undefined;
  }

  protected read(batch: ChatBatch, events: ModelEvent[]): void {
    this.model.answer.take(batch, events);
  }

  end(): readonly ModelEvent[] {
    const events: ModelEvent[] = [];
    this.model.answer.end(events);
    return events;
  }

  failed(error: unknown): never {
    this.model.failure = error;
    throw error;
  }
}
