/** Reads the chunks of a Chat Completions stream, or one whole answer, as model events. */

import { readAnnotation } from '../annotations.ts';
import { ApiError } from '../errors.ts';
import type { ModelEvent, Usage } from '../events.ts';
import type { Note } from '../note.ts';
import { toPrintable } from '../printable.ts';
import { isFilledText, isRecord, type JsonObject, recordsIn } from '../record.ts';
import { errorInBody, secondAnswerError } from '../upstream-errors/upstream-error.ts';
import { AnswerState, type KnownCall } from './answer-state.ts';
import { choiceIndex, choiceNumbered, firstChoice, isForeignRole, type PlainDelta } from './chunk.ts';
import { Citations } from './citations.ts';
import { ContentFilters } from './content-filters.ts';
import { ExecutedTools } from './executed-tools.ts';
import { readFinish } from './finish-reasons.ts';
import { readLogProbs } from './log-probs.ts';
import { takePicture } from './media.ts';
import {
  REASONING_FORMATS,
  REASONING_TEXT_FIELDS,
  type ReasoningField,
  reasoningFieldIn,
  reasoningPartField,
  reasoningPartText,
} from './reasoning-fields.ts';
import { ThinkTags, textDeltaEvent } from './think-tags.ts';
import { type SeeEntry, ToolCalls } from './tool-calls.ts';
import { isBlankValue, UnreadFields } from './unread-fields.ts';
import { costIn, mergeUsage, modelInfo, readUsage, usageIn } from './usage.ts';

/** How an answer is read. */
interface ChatDecoderOptions {
  /** Whether `<think>` tags in the text are read as reasoning; `prompted` if the prompt may hold the first of them. */
  readonly think?: boolean | 'prompted';
  /** Whether somebody else passes the answer on as it came, so that what is no answer is not refused here. */
  readonly passes?: boolean;
  /** Receives a note about fields of the answer that nobody reads. */
  readonly note?: (note: Note) => void;
  /** Receives every entry of a call as it came. Default: what its server needs back of it becomes provider state. */
  readonly seeEntry?: SeeEntry;
}

/** Reads one model call: takes one parsed chunk after another. */
export class ChatDecoder {
  /** Whether anything of a Chat Completions answer, or an error, has come. */
  answered = false;
  /** The number of the choice that is read; undefined before one has come. */
  choice: number | undefined = undefined;
  /** Where the reasoning stood, if there was any. */
  reasoningField: ReasoningField | undefined = undefined;
  private readonly tags: ThinkTags | undefined;
  private readonly passes: boolean;
  private readonly note: ((note: Note) => void) | undefined;
  private readonly unread = new UnreadFields();
  private readonly citations = new Citations();
  /** Few servers run tools or filters of their own. */
  private executed: ExecutedTools | undefined = undefined;
  private filters: ContentFilters | undefined = undefined;
  /** Most models call nothing. */
  private calls: ToolCalls | undefined = undefined;
  private finish: unknown = undefined;
  /** As vLLM and SGLang report it. */
  private stopSequence: string | undefined = undefined;
  private hasDelta = false;
  /** Whether messages stand in the place of deltas. */
  private isInMessages = false;
  /** Whether any output has been emitted, and whether text has since the last call or picture. */
  private hasOutput = false;
  private hasText = false;
  /** Whether something was left out that the answer may be nothing without. */
  private hasOmittedMedia = false;
  /** Whether text came as text, and not as a transcript of audio. */
  private hasWrittenText = false;
  private hasForeignRole = false;
  private model: unknown = undefined;
  private serviceTier: unknown = undefined;
  /** Whether either has not been emitted yet. */
  private hasNews = false;
  /** Most servers want nothing back. */
  private state: AnswerState | undefined = undefined;
  /** Whether anything but reasoning has been emitted. */
  private hasBegun = false;
  private readonly seeEntry: SeeEntry;
  /** The usage, as reported so far, and the cost in dollars, as last reported. */
  private counted: { readonly usage: Usage; readonly reported: JsonObject } | undefined = undefined;
  private cost: number | undefined = undefined;
  private id: unknown = undefined;

  constructor({ think = true, passes = false, note, seeEntry }: ChatDecoderOptions = {}) {
    this.tags = think ? new ThinkTags(think === 'prompted') : undefined;
    this.passes = passes;
    this.note = note;
    this.seeEntry = seeEntry ?? ((call, entry) => this.takeEntry(call, entry));
  }

  /**
   * Adds what the chunk holds to `events`, and returns the choice in it that was read; throws `ApiError` where it carries an
   * error.
   */
  take(chunk: unknown, events: ModelEvent[]): JsonObject | undefined {
    if (!isRecord(chunk)) throw new ApiError('upstream_error', 'The model server sent a chunk that is not an object.');
    this.takeInfo(chunk);
    this.takeUsage(chunk, events);
    const error = errorInBody(chunk);
    this.answered ||= Array.isArray(chunk.choices) || error !== undefined;
    if (error) throw error;
    const choice = this.choice === undefined ? firstChoice(chunk) : choiceNumbered(chunk, this.choice);
    if (choice) this.choice ??= choiceIndex(choice);
    if (!choice && Array.isArray(chunk.choices) && chunk.choices.length > 0) this.unread.add('choices[1]');
    const delta = choice && this.deltaIn(choice);
    if (this.note) this.unread.look(chunk, choice, delta);
    if (!this.passes && !this.citations.take(chunk)) this.unread.add('citations');
    if (chunk.prompt_filter_results || choice?.content_filter_results) {
      this.filters ??= new ContentFilters();
      this.filters.take(chunk, choice);
    }
    if (!choice) return undefined;
    if (chunk.id !== this.id) this.takeId(chunk.id, delta);
    if (isRecord(delta)) this.takeDelta(delta, choice, events);
    this.hasDelta = true;
    // The finish is emitted at the end of the stream: some upstreams repeat it, or write on after it.
    if (choice.finish_reason) this.finish = choice.finish_reason;
    if (typeof choice.stop_reason === 'string') this.stopSequence = choice.stop_reason;
    return choice;
  }

  /** The same for a chunk that holds this and nothing else. */
  takePlainDelta({ text, call, logprobs }: PlainDelta, events: ModelEvent[]): void {
    if (call !== undefined) return this.takeCalls([{ index: call, function: { arguments: text } }], events);
    const before = events.length;
    this.takeText(text, logprobs, events);
    if (events.length > before) this.noteOutput(before, events);
  }

  /** Whether arguments that have come are not in the events yet. */
  get isHoldingArguments(): boolean {
    return this.calls?.isHolding() === true;
  }

  /** Adds the `finish` event; throws `upstream_truncated` where the upstream gave no sign of having finished. */
  end(events: ModelEvent[], sawDone: boolean): void {
    const before = events.length;
    this.tags?.end(events);
    if (events.length > before) this.noteOutput(before, events);
    this.settleCalls(events);
    const { reason, failure, unknown } = readFinish(this.finish);
    this.calls?.end(events, reason !== 'stop' || failure !== undefined || (!this.finish && !sawDone));
    this.emitCitations(events);
    if (this.calls?.hasNameless()) this.unread.add('message.tool_calls[].function.name');
    this.emitNotes(unknown);
    this.checkAnswer(sawDone);
    if (failure && (!this.passes || this.finish === 'error')) throw failure;
    this.emitInfo(events);
    const contentFilters = this.filters?.all();
    if (contentFilters) events.push({ type: 'model-info', contentFilters });
    // What was cut off is no thought that could be given back, and must stay the last.
    if (reason === 'stop') this.emitState(events, events.length);
    const { stopSequence } = this;
    events.push({ type: 'finish', reason, ...(stopSequence === undefined ? {} : { stopSequence }) });
  }

  /** Throws if what has ended is no answer, or holds nothing that a response can show. */
  private checkAnswer(sawDone: boolean): void {
    if (!this.passes && !this.answered)
      throw new ApiError(
        'upstream_error',
        "The model server's answer is none of Chat Completions: it has no 'choices'.",
      );
    if (!this.finish && !sawDone) throw new ApiError('upstream_truncated', 'The model server broke off its answer.');
    if (!this.passes && !this.hasOutput && this.hasOmittedMedia)
      throw new ApiError('upstream_error', 'The model answered with only media that a response cannot hold.');
  }

  /** A message behind deltas repeats them, but for calls that none of them had. */
  private deltaIn(choice: JsonObject): unknown {
    const { delta, message } = choice;
    if (!this.hasDelta) {
      this.isInMessages = !delta;
      return firstDelta(choice);
    }
    if (delta || !isRecord(message)) return delta;
    this.isInMessages ||= !this.hasOutput;
    if (this.isInMessages) return message;
    return this.calls ? undefined : { tool_calls: message.tool_calls };
  }

  /** A gateway that loses its server in the middle of a call may begin another answer; some servers write another id into each chunk. */
  private takeId(id: unknown, delta: unknown): void {
    const begins = ({ function: called }: JsonObject) => isRecord(called) && called.name;
    const isBeginning = isRecord(delta) && delta.role && (delta.content || recordsIn(delta.tool_calls).some(begins));
    if (this.id !== undefined && !this.passes && isBeginning && this.calls?.isMidCall()) throw secondAnswerError();
    this.id = id;
  }

  private takeUsage(chunk: JsonObject, events: ModelEvent[]): void {
    const report = usageIn(chunk);
    const reported = report && mergeUsage(this.counted?.reported, report);
    const usage = reported && readUsage(reported);
    const cost = (report && costIn(report)) ?? (chunk.cost === undefined ? undefined : costIn(chunk));
    if (!usage && cost === undefined) return;
    this.cost = cost ?? this.cost;
    if (usage) this.counted = { usage, reported };
    // The cost may come in a chunk of its own, before the usage or after it.
    if (this.counted) events.push({ type: 'usage', ...this.counted, cost: this.cost });
  }

  private takeInfo({ model, service_tier: serviceTier }: JsonObject): void {
    this.hasNews ||= Boolean((model && model !== this.model) || (serviceTier && serviceTier !== this.serviceTier));
    this.model = model || this.model;
    this.serviceTier = serviceTier || this.serviceTier;
  }

  /** Never alone: an answer without other output may still be refused with a status. */
  private emitInfo(events: ModelEvent[]): void {
    if (!this.hasNews) return;
    this.hasNews = false;
    const info = modelInfo(this.model, this.serviceTier);
    if (info) events.push(info);
  }

  private takeState(delta: JsonObject, isWhole: boolean): void {
    const {
      reasoning_details: details,
      thinking_blocks: blocks,
      extra_content: extra,
      reasoning_opaque: opaque,
    } = delta;
    if (!details && !blocks && !extra && !opaque) return;
    this.state ??= new AnswerState();
    if (Array.isArray(details)) this.state.takeDetails(details, isWhole);
    if (Array.isArray(blocks)) this.state.takeBlocks(blocks, isWhole);
    this.state.takeMessage(delta);
  }

  private takeEntry(call: KnownCall, { extra_content: extra }: JsonObject): void {
    if (!extra) return;
    this.state ??= new AnswerState();
    this.state.takeCall(call, extra);
  }

  /** Emits what its server wants back, in front of the event at this place. */
  private emitState(events: ModelEvent[], at: number): void {
    const state = this.state?.pending(this.reasoningField, this.hasBegun);
    if (state) events.splice(at, 0, { type: 'reasoning-end', state });
  }

  /** State that arrives before or with the first words is emitted in front of them; the rest in front of calls, or at the end. */
  private beginAnswer(events: ModelEvent[], before: number): void {
    for (let at = before; at < events.length && !this.hasBegun; at += 1) {
      if (events[at]?.type !== 'reasoning-delta') {
        this.emitState(events, at);
        this.hasBegun = true;
      } else this.reasoningField ??= 'think_tags';
    }
  }

  private settleCalls(events: ModelEvent[]): void {
    const before = events.length;
    this.calls?.settle(events);
    this.emitStateBeforeCall(events, before);
  }

  private emitStateBeforeCall(events: ModelEvent[], before: number): void {
    if (this.hasBegun && !this.state) return;
    for (let at = before; at < events.length; at += 1) {
      const event = events[at];
      if (event?.type !== 'tool-call-delta' || event.name === undefined) continue;
      this.emitState(events, at);
      this.hasBegun = true;
      return;
    }
  }

  private emitNotes(unknown: string | undefined): void {
    if (this.citations.waiting) this.unread.add('citations');
    const note = this.unread.note();
    if (note) this.note?.(note);
    if (unknown === undefined) return;
    const message = `The model server ended its answer for a reason that is not known here, '${unknown}'; it counts as whole.`;
    this.note?.({ code: 'finish_reason_unknown', message });
  }

  private takeDelta(delta: JsonObject, choice: JsonObject, events: ModelEvent[]): void {
    if (!this.passes && isForeignRole(delta.role)) return this.noteForeignRole(delta.role);
    this.takeState(delta, delta === choice.message);
    if (delta.executed_tools && !this.passes) this.takeExecuted(delta.executed_tools, events);
    const before = events.length;
    this.takeReasoning(delta, events);
    this.takeContent(delta.content, choice.logprobs, events);
    if (typeof delta.refusal === 'string' && delta.refusal) events.push({ type: 'refusal-delta', text: delta.refusal });
    if (events.length > before) this.noteOutput(before, events);
    if (!this.passes) this.takeMedia(delta, events);
    if (Array.isArray(delta.tool_calls)) this.takeCalls(delta.tool_calls, events);
    else if (isRecord(delta.function_call)) this.takeCalls([{ index: 0, function: delta.function_call }], events);
    else if (!isBlankValue(delta.tool_calls)) this.unread.add('message.tool_calls');
    this.takeAnnotations(delta.annotations, events);
  }

  private takeExecuted(tools: unknown, events: ModelEvent[]): void {
    const before = events.length;
    this.executed ??= new ExecutedTools();
    if (!this.executed.take(tools, events)) this.unread.add('message.executed_tools');
    if (events.length === before) return;
    this.hasOutput = true;
    this.settleBefore(events, before);
    this.beginAnswer(events, before);
    this.hasText = false;
  }

  /** For example what a server's own tools answer to the model. */
  private noteForeignRole(role: string): void {
    if (this.hasForeignRole) return;
    this.hasForeignRole = true;
    const message = `Text of the model server in the role '${toPrintable(role)}' is left out.`;
    this.note?.({ code: 'upstream_fields_ignored', message });
  }

  private takeMedia({ content, images, audio }: JsonObject, events: ModelEvent[]): void {
    const before = events.length;
    if (content) this.hasWrittenText = true;
    if (isRecord(audio)) this.takeAudio(audio, events);
    const parts = Array.isArray(content) ? content.filter((part) => isRecord(part) && part.type === 'image_url') : [];
    if (Array.isArray(images)) this.takePictures([...parts, ...images], events);
    else if (parts.length > 0) this.takePictures(parts, events);
    if (events.length === before) return;
    this.hasOutput = true;
    this.beginAnswer(events, before);
  }

  private takeAudio(audio: JsonObject, events: ModelEvent[]): void {
    const before = events.length;
    if (!this.hasWrittenText && typeof audio.transcript === 'string' && audio.transcript !== '')
      events.push({ type: 'text-delta', text: audio.transcript });
    if (events.length > before) this.noteOutput(before, events);
    if (isBlankValue(audio.data)) return;
    this.hasOmittedMedia = true;
    this.unread.add('message.audio.data');
  }

  /** Citations of the text before a picture come first: the picture ends that text. */
  private takePictures(pictures: readonly unknown[], events: ModelEvent[]): void {
    this.tags?.end(events);
    for (const each of pictures) {
      if (isBlankValue(each)) continue;
      this.emitCitations(events);
      if (takePicture(each, events)) this.hasText = false;
      else {
        this.hasOmittedMedia = true;
        this.unread.add('message.images');
      }
    }
  }

  private noteOutput(before: number, events: ModelEvent[]): void {
    this.hasOutput = true;
    this.hasText ||= events[events.length - 1]?.type === 'text-delta';
    this.settleBefore(events, before);
    this.beginAnswer(events, before);
    this.emitInfo(events);
  }

  private emitCitations(events: ModelEvent[]): void {
    if (this.hasText && this.citations.waiting) this.citations.emit(events);
  }

  /** A call that waits for its arguments began before the newest output, so it is emitted first. */
  private settleBefore(events: ModelEvent[], before: number): void {
    if (!this.calls?.hasWaiting()) return;
    const delta = events.splice(before);
    this.settleCalls(events);
    // A loop: a model server may send more at once than a function takes arguments.
    for (const event of delta) events.push(event);
  }

  private takeCalls(entries: readonly unknown[], events: ModelEvent[]): void {
    if (entries.length === 0) return;
    const before = events.length;
    this.tags?.end(events);
    this.beginAnswer(events, before);
    this.emitCitations(events);
    this.hasText = false;
    this.hasOutput = true;
    this.calls ??= new ToolCalls(this.seeEntry);
    this.calls.take(entries, events);
    this.emitStateBeforeCall(events, before);
    if (events.length > before) this.emitInfo(events);
  }

  /** Servers differ in the field's name, and some fill two of them with the same text: the first one counts. */
  private takeReasoning(delta: JsonObject, events: ModelEvent[]): void {
    const field = reasoningFieldIn(delta);
    if (field === undefined) return;
    const { read, merge } = REASONING_FORMATS[field];
    // LiteLLM signs a thought in a block that repeats all of it.
    const isRepeated = field === 'thinking_blocks' && this.reasoningField && this.reasoningField !== field;
    const text = isRepeated ? '' : read(delta);
    if (text === '') {
      // The entries of a thought may be for its server alone.
      if (merge !== 'entries' && !isBlankValue(delta[field])) this.unread.add(`message.${field}`);
      return;
    }
    this.reasoningField ??= field;
    this.tags?.separated(events);
    events.push({ type: 'reasoning-delta', text });
  }

  private takeContent(content: unknown, logprobs: unknown, events: ModelEvent[]): void {
    if (typeof content === 'string') return this.takeText(content, readLogProbs(logprobs), events);
    // Cloudflare's JSON mode answers with the object itself.
    if (isRecord(content)) return this.takeText(JSON.stringify(content), readLogProbs(logprobs), events);
    if (!Array.isArray(content)) {
      if (!isBlankValue(content)) this.unread.add('message.content');
      return;
    }
    // The content of Mistral and Databricks is a list of text and thoughts.
    for (const part of content) {
      if (typeof part === 'string') this.takeText(part, '', events);
      if (!isRecord(part)) continue;
      const field = reasoningPartField(part);
      if (field) {
        this.reasoningField ??= field;
        if (field === 'reasoning_parts') {
          this.state ??= new AnswerState();
          this.state.takePart(part);
        }
        const text = reasoningPartText(part);
        if (text !== '') events.push({ type: 'reasoning-delta', text });
      } else this.takePart(part, events);
    }
  }

  /** Pictures are read apart. */
  private takePart({ type, ...fields }: JsonObject, events: ModelEvent[]): void {
    const text = isRecord(fields.text) ? fields.text.value : fields.text;
    if (typeof text === 'string') this.takeText(text, '', events);
    else if (isFilledText(fields.refusal)) events.push({ type: 'refusal-delta', text: fields.refusal });
    else if (type !== 'image_url' && !isBlankValue(fields))
      this.unread.add(isFilledText(type) ? `message.content[].${toPrintable(type)}` : 'message.content[]');
  }

  private takeText(text: string, logprobs: string, events: ModelEvent[]): void {
    if (text === '' && logprobs === '') return;
    if (this.tags && !this.tags.done()) this.tags.take(text, logprobs, events);
    else events.push(textDeltaEvent(text, logprobs));
  }

  /** Annotations with a place are emitted as they come, all others when the text has ended. */
  private takeAnnotations(annotations: unknown, events: ModelEvent[]): void {
    if (!Array.isArray(annotations)) {
      if (!isBlankValue(annotations)) this.unread.add('message.annotations');
      return;
    }
    for (const each of annotations) if (!isBlankValue(each)) this.takeAnnotation(each, events);
  }

  private takeAnnotation(value: unknown, events: ModelEvent[]): void {
    const read = isRecord(value) ? readAnnotation(value) : undefined;
    if (!read) return this.unread.add('message.annotations');
    const { annotation, atEnd } = read;
    if (isRecord(value) && isRecord(value.file) && !isBlankValue(value.file.content))
      this.unread.add('message.annotations[].file.content');
    if (annotation.type === 'url_citation' && atEnd) {
      if (!this.citations.add(annotation)) this.unread.add('citations');
      return;
    }
    if (annotation.type === 'url_citation') this.citations.markCited(annotation.url);
    this.hasOutput = true;
    events.push(read);
  }
}

/** A whole answer is in `message`; some servers put an empty `delta` beside it, others a `message` beside each delta. */
function firstDelta({ delta, message }: JsonObject): unknown {
  const hasContent =
    isRecord(delta) && (delta.content || delta.tool_calls || REASONING_TEXT_FIELDS.some((field) => delta[field]));
  return hasContent || !isRecord(message) ? delta : message;
}
