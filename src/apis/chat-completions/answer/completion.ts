/** The completion that a client receives, over any number of model calls, and the chunks that make it up. */

import { firstChoice } from '../../../protocol/chat-completions/chunk.ts';
import type { OwnFields } from '../../../protocol/chat-completions/own-fields.ts';
import { type GrownText, wholeText } from '../../../protocol/grown-text.ts';
import { dataURL } from '../../../protocol/images.ts';
import type { OutputItem } from '../../../protocol/items.ts';
import { isRecord, type JsonObject, recordsIn } from '../../../protocol/record.ts';
import { itemImage } from '../../../protocol/tool-calls/image-generation-call.ts';
import { someDelta } from './chunk.ts';
import { continueFields, type MessageFields, withLaterCitations } from './message-fields.ts';
import { addUsage } from './usage.ts';

/** The parts of the client's request that decide what it receives. */
interface CompletionPlan {
  /** Whether the client requested a usage chunk. */
  readonly wantsUsage: boolean;
  /** Whether the client uses `functions`, not `tools`. */
  readonly isLegacy: boolean;
}

/** A call that the client receives. */
export interface ClientCall {
  readonly id: string;
  readonly name: string;
  /** The client's number for it; undefined before it has received any of it. */
  number?: number;
}

/** The completion so far. */
export interface Completion extends CompletionPlan {
  /** The fields that all chunks share, from the first one with an id. */
  head: JsonObject | undefined;
  /** The number of the newest answer's choice. */
  choice: number;
  /** Whether the client has received the role. */
  hasRole: boolean;
  /** Whether a model call has ended and another one continues it. */
  isContinued: boolean;
  /** Whether chunks of the newest answer are rewritten, because its own contain calls that are not the client's. */
  isRewritten: boolean;
  /** The usage of the model calls that have ended. */
  usage: JsonObject | undefined;
  /** The usage of the last of them, unchanged. */
  lastUsage: JsonObject | undefined;
  /** The cost in dollars of those that reported one. */
  cost: number | undefined;
  /** The newest answer's model, as its server names it. */
  answeredBy: string | undefined;
  /** The newest answer's model server, if the upstream chose among several. */
  server: string | undefined;
  /** The text of the answers that have ended. */
  text: string;
  /** The other fields of their messages, and their log probabilities. */
  readonly fields: OwnFields;
  readonly logprobs: OwnFields;
  /** The images that tools of the server have made. */
  readonly images: JsonObject[];
  /** The size of the model's output in all answers, in UTF-8 bytes. */
  bytes: number;
  /** A number above all that the client has for calls. */
  nextNumber: number;
}

/** Before any output. */
export function newCompletion({ wantsUsage, isLegacy }: CompletionPlan): Completion {
  return {
    wantsUsage,
    isLegacy,
    head: undefined,
    choice: 0,
    hasRole: false,
    isContinued: false,
    isRewritten: false,
    usage: undefined,
    lastUsage: undefined,
    cost: undefined,
    answeredBy: undefined,
    server: undefined,
    text: '',
    fields: {},
    logprobs: {},
    images: [],
    bytes: 0,
    nextNumber: 0,
  };
}

/** An answer that has ended. */
interface EndedAnswer {
  readonly text: GrownText;
  readonly fields: Pick<MessageFields, 'all'>;
  /** The answer as an object, if it was not streamed. */
  readonly whole: JsonObject | undefined;
  readonly usage: JsonObject | undefined;
  /** In dollars. */
  readonly cost: number | undefined;
}

/** Adds it. */
export function addAnswer(completion: Completion, { text, fields, whole, usage, cost }: EndedAnswer): void {
  continueFields(completion.fields, withLaterCitations(fields.all(), completion.text.length));
  const logprobs = whole && firstChoice(whole)?.logprobs;
  if (isRecord(logprobs)) continueFields(completion.logprobs, logprobs);
  completion.text += wholeText(text);
  if (cost !== undefined) completion.cost = (completion.cost ?? 0) + cost;
  if (!usage) return;
  completion.usage = addUsage(completion.usage, usage);
  completion.lastUsage = usage;
}

/** Takes the id and similar fields from the first chunk that has an id: Azure's very first one has an empty one. */
export function takeHead(completion: Completion, { id, created, model }: JsonObject): void {
  if (!completion.head || (!completion.head.id && id)) completion.head = { id, created, model };
}

/** A chunk as the model server wrote it: byte for byte, unless an earlier answer requires another id or usage. */
export function passedFrame(completion: Completion, data: string, chunk: JsonObject): string {
  const { choices } = chunk;
  // A chunk of nothing but the usage.
  if (!completion.wantsUsage && chunk.usage && Array.isArray(choices) && choices.length === 0) return '';
  const { head, usage, text, isContinued } = completion;
  completion.hasRole ||= someDelta(chunk, ({ role }) => Boolean(role));
  if (!isContinued) return dataFrame(data);
  const summed = usage && isRecord(chunk.usage) ? { usage: addUsage(usage, chunk.usage) } : undefined;
  const isCiting = text !== '' && someDelta(chunk, ({ annotations }) => Boolean(annotations));
  if (!isCiting && !summed && chunk.id === head?.id) return dataFrame(data);
  const later = (choice: JsonObject) =>
    isRecord(choice.delta) ? { ...choice, delta: withLaterCitations(choice.delta, text.length) } : choice;
  const placed = isCiting ? { choices: recordsIn(choices).map(later) } : undefined;
  return chunkFrame({ ...chunk, ...placed, ...head, ...summed });
}

/** The data as the model server's event. */
export function dataFrame(data: string): string {
  return `data: ${data.includes('\n') ? data.replaceAll('\n', '\ndata: ') : data}\n\n`;
}

/** More arguments of a call, in a chunk of our own; the first one opens the call. */
export function callFrame(completion: Completion, call: ClientCall, text: string): string {
  const isNew = call.number === undefined;
  const index = call.number ?? numberCall(completion, call, undefined);
  const called = isNew ? { name: call.name, arguments: text } : { arguments: text };
  if (completion.isLegacy) return deltaFrame(completion, { function_call: called });
  const opening = isNew ? { id: call.id, type: 'function' } : {};
  return deltaFrame(completion, { tool_calls: [{ index, ...opening, function: called }] });
}

/**
 * Records that the client has received the call, by the model server's own number for it, or by one above every number
 * that the client has: not every model server counts from 0 without gaps.
 */
export function numberCall(completion: Completion, call: ClientCall, index: unknown): number {
  const number = typeof index === 'number' ? index : completion.nextNumber;
  call.number = number;
  completion.nextNumber = Math.max(completion.nextNumber, number + 1);
  return number;
}

/** A chunk of our own. */
export function deltaFrame(completion: Completion, delta: JsonObject, finishReason: string | null = null): string {
  const role = completion.hasRole ? {} : { role: 'assistant' };
  completion.hasRole = true;
  const choices = [{ index: completion.choice, delta: { ...role, ...delta }, finish_reason: finishReason }];
  return chunkFrame({ ...completion.head, ...CHUNK, choices });
}

/** Adds the item's image to the completion, as OpenRouter's clients read it; returns its chunk, empty without an image. */
export function addImage(completion: Completion, item: OutputItem): string {
  const made = itemImage(item);
  if (!made) return '';
  const { images } = completion;
  const image = { type: 'image_url', image_url: { url: dataURL(made.result, made.format) }, index: images.length };
  images.push(image);
  return deltaFrame(completion, { images: [image] });
}

/** The last chunk, and the usage if the client requested it. */
export function closingFrames(completion: Completion, finishReason: string): string {
  const { wantsUsage, usage, head } = completion;
  const closing = deltaFrame(completion, {}, finishReason);
  return wantsUsage && usage ? closing + chunkFrame({ ...head, ...CHUNK, choices: [], usage }) : closing;
}

const CHUNK = { object: 'chat.completion.chunk' };

/** Chat Completions has no event names. */
export function chunkFrame(chunk: JsonObject): string {
  return `data: ${JSON.stringify(chunk)}\n\n`;
}
