/** Writes what an Anthropic Messages server says, for tests that do not need a recording. */
import type { JsonObject } from '../../src/protocol/record.ts';

/** What goes beside the blocks of a message. */
export interface MessageEnd {
  readonly stop?: string;
  readonly input?: JsonObject;
  readonly output?: number;
}

/** One event as an SSE frame. */
export function messagesEvent(event: JsonObject): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** The first event. */
export function messageStart(usage: JsonObject = { input_tokens: 9, output_tokens: 1 }): string {
  const message = { id: 'msg_fake', type: 'message', role: 'assistant', model: 'fake-model', content: [] };
  return messagesEvent({ type: 'message_start', message: { ...message, stop_reason: null, usage } });
}

/** A block with its deltas, as frames. */
export function block(index: number, content: JsonObject, ...deltas: readonly JsonObject[]): string {
  return [
    messagesEvent({ type: 'content_block_start', index, content_block: content }),
    ...deltas.map((delta) => messagesEvent({ type: 'content_block_delta', index, delta })),
    messagesEvent({ type: 'content_block_stop', index }),
  ].join('');
}

/** A text block, in one delta for each string. */
export function textBlock(index: number, ...texts: readonly string[]): string {
  return block(index, { type: 'text', text: '' }, ...texts.map((text) => ({ type: 'text_delta', text })));
}

/** A call whose input comes as JSON text. */
export function toolBlock(index: number, id: string, name: string, json: string): string {
  return block(index, { type: 'tool_use', id, name, input: {} }, { type: 'input_json_delta', partial_json: json });
}

/** A thought and its signature. */
export function thinkingBlock(index: number, thinking: string, signature: string): string {
  return block(
    index,
    { type: 'thinking', thinking: '', signature: '' },
    { type: 'thinking_delta', thinking },
    { type: 'signature_delta', signature },
  );
}

/** The events after the last block. */
export function messageEnd({ stop = 'end_turn', input = {}, output = 12 }: MessageEnd = {}): string {
  const delta = { stop_reason: stop, stop_sequence: null };
  return (
    messagesEvent({ type: 'message_delta', delta, usage: { ...input, output_tokens: output } }) +
    messagesEvent({ type: 'message_stop' })
  );
}

/** A whole stream of these frames. */
export function messagesStream(frames: readonly string[], end: MessageEnd = {}): string {
  return [messageStart(), messagesEvent({ type: 'ping' }), ...frames, messageEnd(end)].join('');
}

/** An error as the wire has it, in a body or in a stream. */
export function messagesError(type: string, message: string): JsonObject {
  return { type: 'error', error: { type, message } };
}
