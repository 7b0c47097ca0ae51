/** What a client sees as one completion, whatever number of model calls it takes, and the chunks that tell of it. */

import type { ModelEvent } from '../../../protocol/events.ts';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import { hasRole, isUsageOnly } from './chunk.ts';
import { addUsage } from './usage.ts';

/** One call of the model's, ours or the client's. */
export interface ChatCall {
  readonly id: string;
  readonly name: string;
  /** Whether the server runs it. */
  readonly owned: boolean;
  arguments: string;
  /** What came with it beside that, for the model server alone. */
  extra?: JsonObject;
}

/** What the client's request decides about what it is told. */
interface CompletionPlan {
  /** Whether the client asked for a usage chunk. */
  readonly wantsUsage: boolean;
  /** Whether the client speaks of `functions`, not of `tools`. */
  readonly legacy: boolean;
}

/** The completion so far. */
export interface Completion extends CompletionPlan {
  /** The fields that all chunks share, from the first one with an id. */
  head: JsonObject | undefined;
  /** Whether the client has been told the role. */
  roleSent: boolean;
  /** Whether a round has ended and another one goes on for it. */
  continued: boolean;
  /** The usage of the rounds that have ended. */
  usage: JsonObject | undefined;
  /** The usage of the last of them, as it came. */
  lastUsage: JsonObject | undefined;
  /** The model of the newest one, as its server names it. */
  answeredBy: string | undefined;
  /** The text of the rounds that have ended. */
  text: string;
  /** How much the model has written in all rounds, in UTF-8 bytes. */
  bytes: number;
  /** The calls that the client has been told of, with its numbers for them. */
  readonly clientCalls: Map<ChatCall, number>;
  /** A number past every one of those. */
  nextNumber: number;
}

/** Before anything was said. */
export function newCompletion(plan: CompletionPlan): Completion {
  const nothing = { head: undefined, roleSent: false, continued: false, usage: undefined, text: '', bytes: 0 };
  const unknown = { lastUsage: undefined, answeredBy: undefined };
  return { clientCalls: new Map(), nextNumber: 0, ...nothing, ...unknown, ...plan };
}

/** Takes the id and the like from the first chunk that has an id: Azure's very first one has an empty one. */
export function begin(completion: Completion, { id, created, model }: JsonObject): void {
  if (!completion.head || (!completion.head.id && id)) completion.head = { id, created, model };
}

/** A chunk as the model server wrote it: byte for byte, unless an earlier round makes its id or usage another. */
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

/** A chunk of ours that says what the event says; nothing for what is not the client's. */
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
 * Notes that the client has been told of the call, by the model server's own number for it, or by one past every number
 * that the client knows: not every model server counts from 0 without gaps.
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

/** The last chunk, and the usage where the client asked for it. */
export function closingFrames(completion: Completion, finishReason: string): string {
  const { wantsUsage, usage, head } = completion;
  const closing = deltaFrame(completion, {}, finishReason);
  return wantsUsage && usage ? closing + chunkFrame({ ...head, ...CHUNK, choices: [], usage }) : closing;
}

const CHUNK = { object: 'chat.completion.chunk' };

/** The Chat wire has no event names. */
export function chunkFrame(chunk: JsonObject): string {
  return `data: ${JSON.stringify(chunk)}\n\n`;
}
