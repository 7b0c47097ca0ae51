/** Writes the demo model's reply as a Chat Completions stream or as one whole answer. */

import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../../protocol/record.ts';
import { unixSeconds } from '../../protocol/reply.ts';
import { type DemoReply, streamPieces } from './demo-reply.ts';

/** The stream: reasoning, text and arguments word by word, then the finish reason, the usage and `[DONE]`. */
export function* streamFrames(model: string, reply: DemoReply): Generator<string> {
  const created = unixSeconds();
  const head = { id: `chatcmpl-${randomUUID()}`, object: 'chat.completion.chunk', created, model };
  const chunk = (delta: JsonObject, finish: string | null = null) =>
    `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] })}\n\n`;

  yield chunk({ role: 'assistant', content: '' });
  for (const word of reply.reasoning) yield chunk({ reasoning_content: word });
  for (const word of reply.text) yield chunk({ content: word });
  if (reply.call) {
    const { name, arguments: text } = reply.call;
    const id = `call_${randomUUID().replaceAll('-', '')}`;
    yield chunk({ tool_calls: [{ index: 0, id, type: 'function', function: { name, arguments: '' } }] });
    for (const word of streamPieces(text)) yield chunk({ tool_calls: [{ index: 0, function: { arguments: word } }] });
  }
  yield chunk({}, reply.finish);
  yield `data: ${JSON.stringify({ ...head, choices: [], usage: reply.usage })}\n\n`;
  yield 'data: [DONE]\n\n';
}

/** The whole answer, for a request that does not ask for a stream. */
export function completion(model: string, { reasoning, text, call, finish, usage }: DemoReply): JsonObject {
  const callId = `call_${randomUUID().replaceAll('-', '')}`;
  const message = {
    role: 'assistant',
    content: call ? null : text.join(''),
    ...(reasoning.length > 0 ? { reasoning_content: reasoning.join('') } : {}),
    ...(call ? { tool_calls: [{ id: callId, type: 'function', function: call }] } : {}),
  };
  return {
    id: `chatcmpl-${randomUUID()}`,
    object: 'chat.completion',
    created: unixSeconds(),
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
    usage,
  };
}
