/** Reads the chunks of a Chat Completions stream, or one whole answer, as model events. */

import { ApiError } from '../errors.ts';
import type { FinishReason, ModelEvent } from '../events.ts';
import type { UrlCitation } from '../items.ts';
import { isRecord } from '../record.ts';
import { errorInBody } from '../upstream-error.ts';
import { AnswerState, type KnownCall, type ReasoningField } from './answer-state.ts';
import { readLogProbs } from './log-probs.ts';
import { modelInfo } from './model-info.ts';
import type { PlainDelta } from './plain-delta.ts';
import { type ThinkTags, textDelta, thinkTags } from './think-tags.ts';
import { type SeeEntry, type ToolCalls, toolCalls } from './tool-calls.ts';
import { costIn, readUsage, usageIn } from './usage.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Takes one parsed chunk after another. */
export interface ChatDecoder {
  /** Where the reasoning stood, if there was any. */
  readonly reasoningField: ReasoningField | undefined;
  /** Adds what the chunk says to `events`; throws `ApiError` where it carries an error. */
  take(chunk: unknown, events: ModelEvent[]): void;
  /** The same for a chunk that says this and nothing else. */
  takePlainDelta(delta: PlainDelta, events: ModelEvent[]): void;
  /** Adds the `finish` event; throws `upstream_truncated` where the upstream gave no sign of having finished. */
  end(events: ModelEvent[], sawDone: boolean): void;
}

/** How answers are read. */
export interface ChatDecoderOptions {
  /** Whether `<think>` tags in the text are read as reasoning. Default: true. */
  readonly think?: boolean;
  /** Is told of every entry of a call as it came. Default: what its server wants back of it is told as state. */
  readonly seeEntry?: SeeEntry;
}

/** The state of one model call. */
export function chatDecoder(options: ChatDecoderOptions = {}): ChatDecoder {
  return new Decoder(options);
}

class Decoder implements ChatDecoder {
  private readonly tags: ThinkTags | undefined;
  /** Most models call nothing. */
  private calls: ToolCalls | undefined = undefined;
  private finish: unknown = undefined;
  private spoke = false;
  private model: unknown = undefined;
  private serviceTier: unknown = undefined;
  reasoningField: ReasoningField | undefined = undefined;
  /** Most servers want nothing back. */
  private state: AnswerState | undefined = undefined;
  /** Whether anything but reasoning was told. */
  private answered = false;

  private readonly seeEntry: SeeEntry;

  constructor({ think = true, seeEntry = (call, entry) => this.takeEntry(call, entry) }: ChatDecoderOptions) {
    this.tags = think ? thinkTags() : undefined;
    this.seeEntry = seeEntry;
  }

  take(chunk: unknown, events: ModelEvent[]): void {
    if (!isRecord(chunk)) throw new ApiError('upstream_error', 'The model server sent a chunk that is not an object.');
    this.takeInfo(chunk, events);
    takeUsage(chunk, events);
    const error = errorInBody(chunk);
    if (error) throw error;
    const choice = firstChoice(chunk.choices);
    if (!choice) return;
    const delta = this.spoke ? choice.delta : firstDelta(choice);
    if (isRecord(delta)) {
      this.takeState(delta, delta === choice.message);
      this.takeDelta(delta, choice.logprobs, events);
    }
    this.spoke = true;
    // The finish is told at the end of the stream: some upstreams repeat it, or write on after it.
    if (choice.finish_reason) this.finish = choice.finish_reason;
  }

  takePlainDelta({ text, call, logprobs }: PlainDelta, events: ModelEvent[]): void {
    if (call !== undefined) return this.takeCalls([{ index: call, function: { arguments: text } }], events);
    const before = events.length;
    takeText(text, logprobs, this.tags, events);
    if (events.length > before) this.settleBefore(events, before);
    if (!this.answered) this.beginAnswer(events, before);
  }

  end(events: ModelEvent[], sawDone: boolean): void {
    const { finish } = this;
    const told = events.length;
    this.tags?.end(events);
    if (!this.answered) this.beginAnswer(events, told);
    this.settleCalls(events);
    if (!finish && !sawDone) throw new ApiError('upstream_truncated', 'The model server broke off its answer.');
    if (finish === 'error') throw new ApiError('upstream_error', 'The model server failed while answering.');
    const reason = finishReason(finish);
    // What was cut off is no thought that could be given back, and must stay the last.
    if (reason === 'stop') this.tellState(events, events.length);
    events.push({ type: 'finish', reason });
  }

  private takeInfo({ model, service_tier: serviceTier }: Fields, events: ModelEvent[]): void {
    if (model === this.model && serviceTier === this.serviceTier) return;
    this.model = model;
    this.serviceTier = serviceTier;
    const info = modelInfo(model, serviceTier);
    if (info) events.push(info);
  }

  private takeState(delta: Fields, isWhole: boolean): void {
    const { reasoning_details: details, extra_content: extra, reasoning_opaque: opaque } = delta;
    if (!details && !extra && !opaque) return;
    this.state ??= new AnswerState();
    if (Array.isArray(details)) this.state.takeDetails(details, isWhole);
    this.state.takeMessage(delta);
  }

  private takeEntry(call: KnownCall, { extra_content: extra }: Fields): void {
    if (!extra) return;
    this.state ??= new AnswerState();
    this.state.takeCall(call, extra);
  }

  /** Tells what its server wants back, in front of the event at this place. */
  private tellState(events: ModelEvent[], at: number): void {
    const state = this.state?.pending(this.reasoningField, this.answered);
    if (state) events.splice(at, 0, { type: 'reasoning-end', state });
  }

  /** What came of the answer so far, and with its first words, is told in front of those; the rest in front of calls, or at the end. */
  private beginAnswer(events: ModelEvent[], told: number): void {
    for (let at = told; at < events.length && !this.answered; at += 1) {
      if (events[at]?.type !== 'reasoning-delta') {
        this.tellState(events, at);
        this.answered = true;
      } else this.reasoningField ??= 'think_tags';
    }
  }

  private settleCalls(events: ModelEvent[]): void {
    const told = events.length;
    this.calls?.settle(events);
    this.tellBeforeCall(events, told);
  }

  private tellBeforeCall(events: ModelEvent[], told: number): void {
    if (this.answered && !this.state) return;
    for (let at = told; at < events.length; at += 1) {
      const event = events[at];
      if (event?.type !== 'tool-call-delta' || event.name === undefined) continue;
      this.tellState(events, at);
      this.answered = true;
      return;
    }
  }

  private takeDelta(delta: Fields, logprobs: unknown, events: ModelEvent[]): void {
    const before = events.length;
    this.takeReasoning(delta, events);
    takeContent(delta.content, logprobs, this.tags, events);
    if (typeof delta.refusal === 'string' && delta.refusal) events.push({ type: 'refusal-delta', text: delta.refusal });
    if (events.length > before) this.settleBefore(events, before);
    if (!this.answered) this.beginAnswer(events, before);
    if (Array.isArray(delta.tool_calls)) this.takeCalls(delta.tool_calls, events);
    else if (isRecord(delta.function_call)) this.takeCalls([{ index: 0, function: delta.function_call }], events);
    if (Array.isArray(delta.annotations)) takeAnnotations(delta.annotations, events);
  }

  /** A call that waits for its arguments began before what was just said, so it is told on first. */
  private settleBefore(events: ModelEvent[], before: number): void {
    if (!this.calls?.hasWaiting()) return;
    const delta = events.splice(before);
    this.settleCalls(events);
    // A loop: a model server may say more at once than a function takes arguments.
    for (const event of delta) events.push(event);
  }

  private takeCalls(entries: readonly unknown[], events: ModelEvent[]): void {
    if (entries.length === 0) return;
    const told = events.length;
    this.tags?.end(events);
    if (!this.answered) this.beginAnswer(events, told);
    this.calls ??= toolCalls(this.seeEntry);
    this.calls.take(entries, events);
    this.tellBeforeCall(events, told);
  }

  /** Servers differ in the field's name, and some fill two of them with the same text: the first one counts. */
  private takeReasoning(delta: Fields, events: ModelEvent[]): void {
    const field = REASONING_FIELDS.find((name) => delta[name]);
    const text = field === 'reasoning_details' ? detailsText(delta[field]) : field && delta[field];
    if (typeof text === 'string' && text) {
      this.reasoningField ??= field;
      events.push({ type: 'reasoning-delta', text });
    } else if (hasThinking(delta.content)) this.reasoningField ??= 'thinking';
  }
}

/** Only the first choice is ever asked for. */
function firstChoice(choices: unknown): Fields | undefined {
  if (!Array.isArray(choices)) return undefined;
  return choices.find((choice) => isRecord(choice) && (choice.index ?? 0) === 0);
}

/** A whole answer is in `message`; some servers put an empty `delta` beside it, others a `message` beside each delta. */
function firstDelta({ delta, message }: Fields): unknown {
  const hasContent =
    isRecord(delta) &&
    (delta.content || delta.tool_calls || delta.reasoning_content || delta.reasoning || delta.reasoning_text);
  return hasContent || !isRecord(message) ? delta : message;
}

function takeUsage(chunk: Fields, events: ModelEvent[]): void {
  const reported = usageIn(chunk);
  const usage = reported && readUsage(reported);
  if (usage) events.push({ type: 'usage', usage, reported, cost: costIn(reported) });
}

const REASONING_FIELDS = ['reasoning_content', 'reasoning', 'reasoning_text', 'reasoning_details'] as const;

function hasThinking(content: unknown): boolean {
  return Array.isArray(content) && content.some((part) => isRecord(part) && part.type === 'thinking');
}

function detailsText(details: unknown): string {
  if (!Array.isArray(details)) return '';
  return details.map((detail) => (isRecord(detail) ? (detail.text ?? detail.summary ?? '') : '')).join('');
}

function takeContent(content: unknown, logprobs: unknown, tags: ThinkTags | undefined, events: ModelEvent[]): void {
  if (typeof content === 'string') return takeText(content, readLogProbs(logprobs), tags, events);
  // Cloudflare's JSON mode answers with the object itself.
  if (isRecord(content)) return takeText(JSON.stringify(content), readLogProbs(logprobs), tags, events);
  if (!Array.isArray(content)) return;
  for (const part of content) takePart(part, tags, events);
}

/** Mistral's content is a list of text and thinking parts. */
function takePart(part: unknown, tags: ThinkTags | undefined, events: ModelEvent[]): void {
  if (!isRecord(part)) return;
  if (part.type === 'thinking') takeThinking(part.thinking, events);
  else if (typeof part.text === 'string') takeText(part.text, '', tags, events);
}

function takeThinking(thinking: unknown, events: ModelEvent[]): void {
  const text = Array.isArray(thinking) ? detailsText(thinking) : thinking;
  if (typeof text === 'string' && text) events.push({ type: 'reasoning-delta', text });
}

function takeText(text: string, logprobs: string, tags: ThinkTags | undefined, events: ModelEvent[]): void {
  if (text === '' && logprobs === '') return;
  if (tags && !tags.done()) tags.take(text, logprobs, events);
  else events.push(textDelta(text, logprobs));
}

function takeAnnotations(annotations: readonly unknown[], events: ModelEvent[]): void {
  for (const annotation of annotations) {
    const citation = isRecord(annotation) ? readCitation(annotation) : undefined;
    if (citation) events.push({ type: 'annotation', annotation: citation });
  }
}

/** Chat Completions nests the citation under its type; the Responses wire has it flat. */
export function readCitation(annotation: Fields): UrlCitation | undefined {
  const citation = isRecord(annotation.url_citation) ? annotation.url_citation : annotation;
  if (typeof citation.url !== 'string' || citation.url === '') return undefined;
  return {
    type: 'url_citation',
    url: citation.url,
    title: typeof citation.title === 'string' ? citation.title : '',
    start_index: offset(citation.start_index),
    end_index: offset(citation.end_index),
  };
}

function offset(value: unknown): number {
  return typeof value === 'number' && value >= 0 ? Math.floor(value) : 0;
}

const CUT_OFF: Readonly<Record<string, FinishReason>> = {
  length: 'length',
  max_tokens: 'length',
  model_length: 'length',
  model_context_window_exceeded: 'length',
  content_filter: 'content_filter',
};

function finishReason(reason: unknown): FinishReason {
  return (typeof reason === 'string' && Object.hasOwn(CUT_OFF, reason) && CUT_OFF[reason]) || 'stop';
}
