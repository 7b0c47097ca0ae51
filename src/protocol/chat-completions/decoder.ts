/** Reads the chunks of a Chat Completions stream, or one whole answer, as model events. */

import { readAnnotation } from '../annotations.ts';
import { ApiError } from '../errors.ts';
import type { ModelEvent } from '../events.ts';
import type { Note } from '../note.ts';
import { printable } from '../printable.ts';
import { isRecord } from '../record.ts';
import { errorInBody } from '../upstream-error.ts';
import { Citations } from './citations.ts';
import { readFinish } from './finish-reasons.ts';
import { readLogProbs } from './log-probs.ts';
import { isPicture, takePicture, takeSpeech } from './media.ts';
import type { PlainDelta } from './plain-delta.ts';
import { isOthers } from './roles.ts';
import { type ThinkTags, textDelta, thinkTags } from './think-tags.ts';
import { type ToolCalls, toolCalls } from './tool-calls.ts';
import { isBlank, UnreadFields } from './unread-fields.ts';
import { readUsage } from './usage.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Takes one parsed chunk after another. */
export interface ChatDecoder {
  /** Adds what the chunk says to `events`; throws `ApiError` where it carries an error. */
  take(chunk: unknown, events: ModelEvent[]): void;
  /** The same for a chunk that says this and nothing else. */
  takePlainDelta(delta: PlainDelta, events: ModelEvent[]): void;
  /** Adds the `finish` event; throws `upstream_truncated` where the upstream gave no sign of having finished. */
  end(events: ModelEvent[], sawDone: boolean): void;
  /** Whether anything of a Chat Completions answer, or an error, has come. */
  readonly answered: boolean;
}

/** How an answer is read. */
export interface ChatDecoderOptions {
  /** Whether `<think>` tags in the text are read as reasoning. */
  readonly think?: boolean;
  /** Whether somebody else passes the answer on as it came, so that what is no answer is not refused here. */
  readonly passes?: boolean;
  /** Is told what of the answer nobody reads. */
  readonly note?: (note: Note) => void;
}

/** The state of one model call. */
export function chatDecoder(options: ChatDecoderOptions = {}): ChatDecoder {
  return new Decoder(options);
}

class Decoder implements ChatDecoder {
  answered = false;
  private readonly tags: ThinkTags | undefined;
  private readonly passes: boolean;
  private readonly note: ((note: Note) => void) | undefined;
  private readonly unread = new UnreadFields();
  private readonly citations = new Citations();
  /** Most models call nothing. */
  private calls: ToolCalls | undefined = undefined;
  private finish: unknown = undefined;
  private spoke = false;
  /** Whether anything has been told, and whether text has since the last call or picture. */
  private hasOutput = false;
  private hasText = false;
  /** Whether something was left out that the answer may be nothing without. */
  private hasLost = false;
  /** Whether words came as such, and not as what is heard. */
  private hasWords = false;
  private hasOthers = false;

  constructor({ think = true, passes = false, note }: ChatDecoderOptions) {
    this.tags = think ? thinkTags() : undefined;
    this.passes = passes;
    this.note = note;
  }

  take(chunk: unknown, events: ModelEvent[]): void {
    if (!isRecord(chunk)) throw new ApiError('upstream_error', 'The model server sent a chunk that is not an object.');
    takeUsage(chunk, events);
    const error = errorInBody(chunk);
    this.answered ||= Array.isArray(chunk.choices) || error !== undefined;
    if (error) throw error;
    const choice = firstChoice(chunk.choices);
    const delta = !choice || this.spoke ? choice?.delta : firstDelta(choice);
    if (this.note) this.unread.look(chunk, choice, delta);
    if (!this.passes && !this.citations.take(chunk)) this.unread.add('citations');
    if (!choice) return;
    if (isRecord(delta)) this.takeDelta(delta, choice.logprobs, events);
    this.spoke = true;
    // The finish is told at the end of the stream: some upstreams repeat it, or write on after it.
    if (choice.finish_reason) this.finish = choice.finish_reason;
  }

  takePlainDelta({ text, call, logprobs }: PlainDelta, events: ModelEvent[]): void {
    if (call !== undefined) return this.takeCalls([{ index: call, function: { arguments: text } }], events);
    const before = events.length;
    takeText(text, logprobs, this.tags, events);
    if (events.length > before) this.noteOutput(before, events);
  }

  end(events: ModelEvent[], sawDone: boolean): void {
    const before = events.length;
    this.tags?.end(events);
    if (events.length > before) this.noteOutput(before, events);
    this.calls?.settle(events);
    this.emitCitations(events);
    const { reason, failure, unknown } = readFinish(this.finish);
    this.emitNotes(unknown);
    this.refuseNothing(sawDone);
    if (failure && (!this.passes || this.finish === 'error')) throw failure;
    events.push({ type: 'finish', reason });
  }

  /** Throws where what has ended is no answer, or none that could be told. */
  private refuseNothing(sawDone: boolean): void {
    if (!this.passes && !this.answered)
      throw new ApiError(
        'upstream_error',
        "The model server's answer is none of Chat Completions: it has no 'choices'.",
      );
    if (!this.finish && !sawDone) throw new ApiError('upstream_truncated', 'The model server broke off its answer.');
    if (!this.passes && !this.hasOutput && this.hasLost)
      throw new ApiError('upstream_error', 'The model answered with nothing but media that a response cannot hold.');
  }

  private emitNotes(unknown: string | undefined): void {
    if (this.citations.waiting) this.unread.add('citations');
    const note = this.unread.note();
    if (note) this.note?.(note);
    if (unknown === undefined) return;
    const message = `The model server ended its answer for a reason that is not known here, '${unknown}'; it counts as whole.`;
    this.note?.({ code: 'finish_reason_unknown', message });
  }

  private takeDelta(delta: Fields, logprobs: unknown, events: ModelEvent[]): void {
    if (!this.passes && isOthers(delta.role)) return this.leaveOut(delta.role);
    const before = events.length;
    takeReasoning(delta, events);
    takeContent(delta.content, logprobs, this.tags, events);
    if (typeof delta.refusal === 'string' && delta.refusal) events.push({ type: 'refusal-delta', text: delta.refusal });
    if (events.length > before) this.noteOutput(before, events);
    if (!this.passes) this.takeMedia(delta, events);
    if (Array.isArray(delta.tool_calls)) this.takeCalls(delta.tool_calls, events);
    else if (isRecord(delta.function_call)) this.takeCalls([{ index: 0, function: delta.function_call }], events);
    this.takeAnnotations(delta.annotations, events);
  }

  /** What a server's own tools say to the model, for one. */
  private leaveOut(role: string): void {
    if (this.hasOthers) return;
    this.hasOthers = true;
    const message = `What the model server says in the role '${printable(role)}' is left out.`;
    this.note?.({ code: 'upstream_fields_ignored', message });
  }

  private takeMedia({ content, images, audio }: Fields, events: ModelEvent[]): void {
    const before = events.length;
    if (content) this.hasWords = true;
    if (isRecord(audio)) this.takeAudio(audio, events);
    const parts = Array.isArray(content) ? content.filter(isPicture) : [];
    if (Array.isArray(images) || parts.length > 0) this.takePictures([...parts, ...listOf(images)], events);
    if (events.length > before) this.hasOutput = true;
  }

  private takeAudio(audio: Fields, events: ModelEvent[]): void {
    const before = events.length;
    if (!this.hasWords) takeSpeech(audio, events);
    if (events.length > before) this.noteOutput(before, events);
    if (isBlank(audio.data)) return;
    this.hasLost = true;
    this.unread.add('message.audio.data');
  }

  /** What cites the text before them is told first: a picture ends it. */
  private takePictures(pictures: readonly unknown[], events: ModelEvent[]): void {
    this.tags?.end(events);
    for (const each of pictures) {
      if (isBlank(each)) continue;
      this.emitCitations(events);
      if (takePicture(each, events)) this.hasText = false;
      else {
        this.hasLost = true;
        this.unread.add('message.images');
      }
    }
  }

  private noteOutput(before: number, events: ModelEvent[]): void {
    this.hasOutput = true;
    this.hasText ||= events[events.length - 1]?.type === 'text-delta';
    this.settleBefore(events, before);
  }

  private emitCitations(events: ModelEvent[]): void {
    if (this.hasText && this.citations.waiting) this.citations.emit(events);
  }

  /** A call that waits for its arguments began before what was just said, so it is told on first. */
  private settleBefore(events: ModelEvent[], before: number): void {
    if (!this.calls?.hasWaiting()) return;
    const delta = events.splice(before);
    this.calls.settle(events);
    // A loop: a model server may say more at once than a function takes arguments.
    for (const event of delta) events.push(event);
  }

  private takeCalls(entries: readonly unknown[], events: ModelEvent[]): void {
    if (entries.length === 0) return;
    this.tags?.end(events);
    this.emitCitations(events);
    this.hasText = false;
    this.hasOutput = true;
    this.calls ??= toolCalls();
    this.calls.take(entries, events);
  }

  /** Those with a place are told as they come, all others when the text has ended. */
  private takeAnnotations(annotations: unknown, events: ModelEvent[]): void {
    if (!Array.isArray(annotations)) {
      if (!isBlank(annotations)) this.unread.add('message.annotations');
      return;
    }
    for (const each of annotations) if (!isBlank(each)) this.takeAnnotation(each, events);
  }

  private takeAnnotation(given: unknown, events: ModelEvent[]): void {
    const read = isRecord(given) ? readAnnotation(given) : undefined;
    if (!read) return this.unread.add('message.annotations');
    const { annotation, atEnd } = read;
    if (isRecord(given) && isRecord(given.file) && !isBlank(given.file.content))
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

/** Only the first choice is ever asked for. */
function firstChoice(choices: unknown): Fields | undefined {
  if (!Array.isArray(choices)) return undefined;
  return choices.find((choice) => isRecord(choice) && (choice.index ?? 0) === 0);
}

/** A whole answer is in `message`; some servers put an empty `delta` beside it, others a `message` beside each delta. */
function firstDelta({ delta, message }: Fields): unknown {
  const hasContent =
    isRecord(delta) && (delta.content || delta.tool_calls || delta.reasoning_content || delta.reasoning);
  return hasContent || !isRecord(message) ? delta : message;
}

function takeUsage(chunk: Fields, events: ModelEvent[]): void {
  const reported = chunk.usage ?? (isRecord(chunk.x_groq) ? chunk.x_groq.usage : undefined);
  if (!reported) return;
  const usage = readUsage(reported);
  if (usage) events.push({ type: 'usage', usage });
}

/** Servers differ in the field's name, and some fill two of them with the same text: the first one counts. */
function takeReasoning(delta: Fields, events: ModelEvent[]): void {
  const text = delta.reasoning_content || delta.reasoning || detailsText(delta.reasoning_details);
  if (typeof text === 'string' && text) events.push({ type: 'reasoning-delta', text });
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

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
