/** Reads the usage and the written text of an answer from the bytes of any of the APIs, without parsing every event. */
import { DEFAULT_LIMITS } from '../../ports/limits.ts';
import { usageReader } from '../../protocol/anthropic/usage.ts';
import { REASONING_TEXT_FIELDS } from '../../protocol/chat-completions/reasoning-fields.ts';
import { costIn, mergeUsage, readUsage, usageIn } from '../../protocol/chat-completions/usage.ts';
import type { ModelEvent, Usage } from '../../protocol/events.ts';
import { type GrownText, grow, wholeText } from '../../protocol/grown-text.ts';
import { objectIn } from '../../protocol/json/json-text.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';

/** Most chunks have no usage, or `null`, and no cost, and are not parsed. */
const HAS_USAGE = /"usage": ?\{|"cost": ?["\d{]/;
/** In JSON that is cut: the counts, and objects of them. */
const USAGE = /"usage": ?\{(?:[^{}]|\{[^{}]*\})*\}/g;
/** Marks events of the Responses API: only their deltas are counted, since other events repeat the text. */
const IS_RESPONSES = /"type": ?"response\./;
const DELTA = /"delta": ?"/g;
const WRITTEN_FIELDS = [
  'content',
  ...REASONING_TEXT_FIELDS,
  'refusal',
  'arguments',
  'text',
  'thinking',
  'partial_json',
];
const WRITTEN = new RegExp(`"(?:${WRITTEN_FIELDS.join('|')})": ?"`, 'g');
/** The most characters that are kept of what the model writes, to estimate its tokens. */
const MAX_TEXT = DEFAULT_LIMITS.outputBytes;
/** Nothing but usage follows it. */
const FINISHED = /"finish_reason": ?"|"type": ?"(?:response\.(?:completed|incomplete)|message_stop)"|^\[DONE\]/;

const MODELS =
  /"(?:choices": ?\[|usage": ?\{|finish_reason":)|"type": ?"(?:response\.|message_)|"object": ?"(?:response|chat\.completion)/;

/** The usage of one answer, as far as it has been read. */
export class AnswerUsage {
  usage: Usage | undefined;
  /** In dollars. */
  cost: number | undefined;
  /** The number of characters that the model has written beside those of `text`. */
  unkeptCharacters = 0;
  private readonly written: GrownText = { text: '', tail: '' };
  /** Whether the model has finished its answer. */
  isFinished = false;
  /** Whether anything of it is in the shape of an API that calls models. */
  isModels = false;
  private reported: JsonObject | undefined;
  /** Anthropic reports it in parts. */
  private readonly parts = usageReader();

  /** What the model has written, escaped as in JSON: its first 10 MiB. */
  get text(): string {
    return wholeText(this.written);
  }

  /** Reads the data of one event, or a whole answer. */
  take(data: string, isWhole: boolean): void {
    this.isFinished ||= isWhole || FINISHED.test(data);
    this.isModels ||= MODELS.test(data);
    if (HAS_USAGE.test(data)) this.read(data);
    this.write(stringsAfter(IS_RESPONSES.test(data) ? DELTA : WRITTEN, data));
  }

  /**
   * Reads the beginning and the end of a whole answer that is too long to be kept. Servers write the usage behind what they repeat of the request,
   * in which a client may have an object of that name.
   */
  takeEnds(start: string, end: string): void {
    this.take(start, false);
    const usage = end.match(USAGE)?.at(-1);
    if (usage !== undefined) this.take(`{${usage}}`, true);
  }

  /** Adds what the model has written. */
  write(text: string): void {
    const { written } = this;
    const room = MAX_TEXT - written.text.length - written.tail.length;
    grow(written, text.length > room ? text.slice(0, room) : text);
    this.unkeptCharacters += Math.max(0, text.length - room);
  }

  private read(data: string): void {
    const answer = objectIn(data);
    if (answer && MESSAGE_TYPES.has(answer.type)) return this.readMessage(answer);
    if (!answer) return;
    const whole = isRecord(answer.response) ? answer.response : answer;
    const report = usageIn(whole);
    if (report) this.reported = mergeUsage(this.reported, report);
    this.usage = readUsage(this.reported) ?? this.usage;
    this.cost = (report && costIn(report)) ?? costIn(whole) ?? this.cost;
  }

  private readMessage({ message, usage }: JsonObject): void {
    const events: ModelEvent[] = [];
    this.parts.take(isRecord(message) ? message.usage : usage, events);
    const [event] = events;
    if (event?.type === 'usage') this.usage = event.usage;
  }
}

/** A message of Anthropic's API, and its events with the message's usage. */
const MESSAGE_TYPES: ReadonlySet<unknown> = new Set(['message', 'message_start', 'message_delta']);

/** The strings that follow the key, joined. */
function stringsAfter(key: RegExp, data: string): string {
  let text = '';
  key.lastIndex = 0;
  while (key.test(data)) {
    const end = closingQuote(data, key.lastIndex);
    text += data.slice(key.lastIndex, end);
    key.lastIndex = end;
  }
  return text;
}

/** Where the JSON string ends that begins here. Not a pattern, which exhausts the stack in a text of some megabytes. */
function closingQuote(data: string, start: number): number {
  for (let at = data.indexOf('"', start); at >= 0; at = data.indexOf('"', at + 1)) {
    let escapes = 0;
    while (at - escapes > start && data[at - escapes - 1] === '\\') escapes += 1;
    if (escapes % 2 === 0) return at;
  }
  return data.length;
}
