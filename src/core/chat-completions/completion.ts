/** What a client sees as one completion, whatever number of model calls it takes, and the chunks that tell of it. */
import { isRecord } from '../record.ts';
import type { ModelEvent } from '../turn/events.ts';
import { addUsage } from './usage.ts';

type Fields = Readonly<Record<string, unknown>>;

/** One call of the model's, ours or the client's. */
export interface ChatCall {
  readonly id: string;
  readonly name: string;
  /** Whether the server runs it. */
  readonly owned: boolean;
  arguments: string;
}

/** The completion so far. */
export interface Completion {
  /** Whether the client asked for a usage chunk. */
  readonly wantsUsage: boolean;
  /** The fields that all chunks share, from the first one. */
  head: Fields | undefined;
  /** Whether the client has been sent anything, and so the role. */
  spoke: boolean;
  /** The usage of the rounds that have ended. */
  usage: Fields | undefined;
  /** The text of all rounds. */
  text: string;
  /** The calls that the client has been told of, in its numbering. */
  readonly clientCalls: ChatCall[];
}

/** Before anything was said. */
export function newCompletion(wantsUsage: boolean): Completion {
  return { wantsUsage, head: undefined, spoke: false, usage: undefined, text: '', clientCalls: [] };
}

/** Takes the id and the like from the first chunk of the first round. */
export function begin(completion: Completion, { id, created, model }: Fields): void {
  completion.head ??= { id, created, model };
}

/** A chunk as the model server wrote it: byte for byte, unless an earlier round makes its id or usage another. */
export function passedFrame(completion: Completion, data: string, chunk: Fields): string {
  completion.spoke = true;
  if (!completion.wantsUsage && isUsageOnly(chunk)) return '';
  const { head, usage } = completion;
  const summed = usage && isRecord(chunk.usage) ? { usage: addUsage(usage, chunk.usage) } : undefined;
  if (!summed && chunk.id === head?.id) return `data: ${data}\n\n`;
  return chunkFrame({ ...chunk, ...head, ...summed });
}

function isUsageOnly({ choices, usage }: Fields): boolean {
  return Boolean(usage) && Array.isArray(choices) && choices.length === 0;
}

/** A chunk of ours that says what the event says; nothing for what is not the client's. */
export function toldFrame(completion: Completion, event: ModelEvent, call: ChatCall | undefined): string {
  switch (event.type) {
    case 'text-delta':
      return saidFrame(completion, { content: event.text });
    case 'reasoning-delta':
      return saidFrame(completion, { reasoning_content: event.text });
    case 'refusal-delta':
      return saidFrame(completion, { refusal: event.text });
    case 'tool-call-delta':
      return call && !call.owned ? callFrame(completion, call, event.arguments) : '';
    default:
      return '';
  }
}

function callFrame(completion: Completion, call: ChatCall, text: string): string {
  const { clientCalls } = completion;
  const known = clientCalls.indexOf(call);
  if (known >= 0) return saidFrame(completion, { tool_calls: [{ index: known, function: { arguments: text } }] });
  const index = clientCalls.push(call) - 1;
  const opening = { index, id: call.id, type: 'function', function: { name: call.name, arguments: text } };
  return saidFrame(completion, { tool_calls: [opening] });
}

function saidFrame(completion: Completion, delta: Fields): string {
  const role = completion.spoke ? {} : { role: 'assistant' };
  completion.spoke = true;
  return choiceFrame(completion, { ...role, ...delta }, null);
}

/** The last chunk, and the usage where the client asked for it. */
export function closingFrames(completion: Completion, finishReason: string): string {
  const { wantsUsage, usage, head } = completion;
  const closing = choiceFrame(completion, {}, finishReason);
  return wantsUsage && usage ? closing + chunkFrame({ ...head, ...CHUNK, choices: [], usage }) : closing;
}

const CHUNK = { object: 'chat.completion.chunk' };

function choiceFrame({ head }: Completion, delta: Fields, finishReason: string | null): string {
  return chunkFrame({ ...head, ...CHUNK, choices: [{ index: 0, delta, finish_reason: finishReason }] });
}

/** The Chat wire has no event names. */
export function chunkFrame(chunk: Fields): string {
  return `data: ${JSON.stringify(chunk)}\n\n`;
}
