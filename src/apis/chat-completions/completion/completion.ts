/** The completion that a client receives, over any number of model calls, and the chunks that make it up. */

import type { CallRefusal, ModelEvent } from '../../../protocol/events.ts';
import { dataURL } from '../../../protocol/images.ts';
import type { GeneratedImage } from '../../../protocol/items.ts';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import { hasRole, isUsageOnly } from './chunk.ts';
import { addUsage } from './usage.ts';

/** One call by the model, of a server-run or a client's tool. */
export interface ChatCall {
  readonly id: string;
  readonly name: string;
  /** Whether the client is not shown it: the server runs it, or the request does not allow it. */
  readonly owned: boolean;
  /** Why the request does not allow it; undefined if it does. */
  readonly why?: CallRefusal | undefined;
  arguments: string;
  /** Its extra fields, for the model server alone. */
  extra?: JsonObject;
}

/** The parts of the client's request that decide what it receives. */
interface CompletionPlan {
  /** Whether the client requested a usage chunk. */
  readonly wantsUsage: boolean;
  /** Whether the client uses `functions`, not `tools`. */
  readonly legacy: boolean;
}

/** The completion so far. */
export interface Completion extends CompletionPlan {
  /** The fields that all chunks share, from the first one with an id. */
  head: JsonObject | undefined;
  /** Whether the client has received the role. */
  roleSent: boolean;
  /** Whether a round has ended and another one continues it. */
  continued: boolean;
  /** The usage of the rounds that have ended. */
  usage: JsonObject | undefined;
  /** The usage of the last of them, unchanged. */
  lastUsage: JsonObject | undefined;
  /** The newest round's model, as its server names it. */
  answeredBy: string | undefined;
  /** The newest round's model server, if the upstream chose among several. */
  server: string | undefined;
  /** The text of the rounds that have ended. */
  text: string;
  /** The images that tools of the server have made. */
  readonly images: JsonObject[];
  /** The size of the model's output in all rounds, in UTF-8 bytes. */
  bytes: number;
  /** The calls that the client has received, with its numbers for them. */
  readonly clientCalls: Map<ChatCall, number>;
  /** A number above all of those. */
  nextNumber: number;
  /** How many answers of the model held calls that the request does not allow. */
  refusals: number;
}

/** Before any output. */
export function newCompletion(plan: CompletionPlan): Completion {
  const nothing = { head: undefined, roleSent: false, continued: false, usage: undefined, text: '', bytes: 0 };
  const unknown = { lastUsage: undefined, answeredBy: undefined, server: undefined };
  return { clientCalls: new Map(), nextNumber: 0, refusals: 0, images: [], ...nothing, ...unknown, ...plan };
}

/** Takes the id and similar fields from the first chunk that has an id: Azure's very first one has an empty one. */
export function begin(completion: Completion, { id, created, model }: JsonObject): void {
  if (!completion.head || (!completion.head.id && id)) completion.head = { id, created, model };
}

/** A chunk as the model server wrote it: byte for byte, unless an earlier round requires another id or usage. */
export function passedFrame(completion: Completion, data: string, chunk: JsonObject): string {
  if (!completion.wantsUsage && isUsageOnly(chunk)) return '';
  const { head, usage, continued } = completion;
  completion.roleSent ||= hasRole(chunk);
  const summed = usage && isRecord(chunk.usage) ? { usage: addUsage(usage, chunk.usage) } : undefined;
  if (continued && (summed || chunk.id !== head?.id)) return chunkFrame({ ...chunk, ...head, ...summed });
  return eventOf(data);
}

/** The data as the model server's event. */
export function eventOf(data: string): string {
  return `data: ${data.includes('\n') ? data.replaceAll('\n', '\ndata: ') : data}\n\n`;
}

/** A generated chunk for the event; undefined for an event that is not for the client. */
export function eventFrame(completion: Completion, event: ModelEvent, call: ChatCall | undefined): string {
  switch (event.type) {
    case 'text-delta':
      return deltaFrame(completion, { content: event.text });
    case 'reasoning-delta':
      return deltaFrame(completion, { reasoning_content: event.text });
    case 'refusal-delta':
      return deltaFrame(completion, { refusal: event.text });
    case 'tool-call-delta':
      return call && !call.owned ? callFrame(completion, call, event.arguments) : '';
    default:
      return '';
  }
}

function callFrame(completion: Completion, call: ChatCall, text: string): string {
  const { clientCalls, legacy } = completion;
  const known = clientCalls.get(call);
  const index = known ?? noteSent(completion, call, undefined);
  const called = known === undefined ? { name: call.name, arguments: text } : { arguments: text };
  if (legacy) return deltaFrame(completion, { function_call: called });
  const opening = known === undefined ? { id: call.id, type: 'function' } : {};
  return deltaFrame(completion, { tool_calls: [{ index, ...opening, function: called }] });
}

/**
 * Records that the client has received the call, by the model server's own number for it, or by one above every number
 * that the client has: not every model server counts from 0 without gaps.
 */
export function noteSent(completion: Completion, call: ChatCall, index: unknown): number {
  const number = typeof index === 'number' ? index : completion.nextNumber;
  completion.clientCalls.set(call, number);
  completion.nextNumber = Math.max(completion.nextNumber, number + 1);
  return number;
}

function deltaFrame(completion: Completion, delta: JsonObject, finishReason: string | null = null): string {
  const role = completion.roleSent ? {} : { role: 'assistant' };
  completion.roleSent = true;
  const choices = [{ index: 0, delta: { ...role, ...delta }, finish_reason: finishReason }];
  return chunkFrame({ ...completion.head, ...CHUNK, choices });
}

/** Adds the image to the completion, as OpenRouter's clients read it; returns its chunk. */
export function addImage(completion: Completion, { result, details }: GeneratedImage): string {
  const { images } = completion;
  const url = dataURL(result, details.output_format);
  const image = { type: 'image_url', image_url: { url }, index: images.length };
  images.push(image);
  completion.bytes += result.length;
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
