/** One chat completion over answers that are written chunk by chunk: what the client has received after each of them. */

import { newCompletion } from '../../../src/apis/chat-completions/answer/completion.ts';
import type { PreparedChat } from '../../../src/apis/chat-completions/chat-request.ts';
import { PassThrough } from '../../../src/apis/chat-completions/pass-through.ts';
import type { ChatBody } from '../../../src/apis/chat-completions/request/schema.ts';
import { ToolTurn } from '../../../src/apis/chat-completions/tool-turn.ts';
import type { RoundCall } from '../../../src/engine/turn/machine/tool-rounds.ts';
import { DEFAULT_LIMITS, type Limits } from '../../../src/ports/limits.ts';
import type { ChatBatch, UpstreamCall } from '../../../src/ports/upstream.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { DONE_FRAME } from '../../../src/streams/sse-frames.ts';

/** Limits that a test reaches. */
export const TIGHT: Limits = { ...DEFAULT_LIMITS, outputBytes: 1000, argumentBytes: 100, eventBytes: 10_000 };

/** What differs from a request to a server that runs the tool `ours`. */
export interface Setting {
  /** Default: true. */
  readonly hasTools?: boolean;
  readonly limits?: Limits;
  readonly wantsUsage?: boolean;
  readonly isLegacy?: boolean;
  readonly wantsWhole?: boolean;
  /** The name of the model server that answers, of several. */
  readonly server?: string;
  /** Whether the model server answers with one JSON object. Default: false. */
  readonly isWhole?: boolean;
  /** How many pieces of data come in one read. Default: 1. */
  readonly perRead?: number;
  readonly body?: JsonObject;
}

/** What came of it. */
export interface Outcome {
  /** The frames after each piece of data of all answers, and those after the end of each, without the last one. */
  readonly frames: readonly string[];
  /** The whole completion, if it was wanted. */
  readonly whole: string | undefined;
  readonly error: unknown;
  /** Whether the stream was opened. */
  readonly isOpen: boolean;
  /** The bodies that the model server received. */
  readonly bodies: readonly ChatBody[];
  /** The calls that ran. */
  readonly calls: readonly RoundCall[];
}

const BODY: ChatBody = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };

/** The data of each answer in turn, which is `[DONE]` or a chunk; the last answer repeats. */
export async function run(answers: readonly (readonly string[])[], setting: Setting = {}): Promise<Outcome> {
  const {
    hasTools = true,
    limits = TIGHT,
    wantsUsage = true,
    isLegacy = false,
    wantsWhole = false,
    isWhole = false,
    perRead = 1,
  } = setting;
  const frames: string[] = [];
  const bodies: ChatBody[] = [];
  const calls: RoundCall[] = [];
  async function* send(body: ChatBody): AsyncGenerator<ChatBatch, void> {
    const data = answers[Math.min(bodies.length, answers.length - 1)] ?? [];
    bodies.push(body);
    for (let at = 0; at < data.length; at += perRead) {
      frames.push('');
      yield {
        whole: isWhole,
        data: data.slice(at, at + perRead),
        ...(setting.server === undefined ? {} : { server: setting.server }),
      };
    }
    frames.push('');
  }
  const chat: PreparedChat = {
    // The cast: what answers reads nothing of the request.
    request: {} as PreparedChat['request'],
    body: { ...BODY, stream: !wantsWhole, ...setting.body },
    completion: newCompletion({ wantsUsage, isLegacy }),
    send,
    // The cast: the model server here reads nothing of it but this.
    call: { signal: new AbortController().signal, note: () => {} } as unknown as UpstreamCall,
    limits,
    callRules: {},
    wantsWhole,
    server: undefined,
    record: undefined,
  };
  const entry = { provider: { name: 'p', list: () => [], call: async () => ({ output: '' }) }, tool: OURS };
  const server = {
    // The cast: the runner below is asked, and no provider.
    toolset: new Map([['ours', entry as never]]),
    runCall: async (call: RoundCall) => {
      calls.push({ name: call.name, arguments: call.arguments });
      return { output: 'done', failed: false };
    },
    deferred: () => undefined,
    keepResults: async () => {},
  };
  const answer = hasTools ? new ToolTurn(chat, server) : new PassThrough(chat);
  let whole: string | undefined;
  let isOpen = false;
  try {
    if (wantsWhole) whole = await answer.whole();
    else
      for await (const sent of answer.frames()) {
        isOpen = true;
        frames[frames.length - 1] += sent.endsWith(DONE_FRAME) ? sent.slice(0, -DONE_FRAME.length) : sent;
      }
    return { frames, whole, error: undefined, isOpen, bodies, calls };
  } catch (error) {
    return { frames, whole, error, isOpen, bodies, calls };
  }
}

const OURS = { server: 'functions', name: 'ours' };

/** A chunk as text, with blanks that only a passed one still has. */
export function chunk(delta: object, finish: string | null = null): string {
  return JSON.stringify({ id: 'x', choices: [{ index: 0, delta, finish_reason: finish }] }).replaceAll(',"', ', "');
}

/** A chunk of pieces of calls. */
export function calls(
  ...pieces: readonly (readonly [index: number, name: string | undefined, text?: string])[]
): string {
  return chunk({ tool_calls: pieces.map(([index, name, text]) => piece(index, name, text)) });
}

function piece(index: number, name: string | undefined, text = '') {
  return name === undefined
    ? { index, function: { arguments: text } }
    : { index, id: `id_${index}`, type: 'function', function: { name, arguments: text } };
}

/** The data as it is passed on. */
export function frame(data: string): string {
  return `data: ${data}\n\n`;
}

/** The delta of a frame. */
export function deltaIn(frame = ''): unknown {
  return JSON.parse(frame.replace(/^data: /, '')).choices[0].delta;
}
