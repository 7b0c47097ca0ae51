/** Counts the tokens of a model's input. */

import type { TokenCounter } from '../../ports/token-counter.ts';
import { toChatMessages } from '../../protocol/chat-completions/messages.ts';
import { readReasoning } from '../../protocol/chat-completions/reasoning-fields.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import { type JsonObject, recordsIn } from '../../protocol/record.ts';

/** The tokens of each message besides its text: its role, and its beginning and end. */
const PER_MESSAGE = 4;
/** The tokens that begin the answer. */
const PER_REQUEST = 3;
/** An image or another medium: as OpenAI counts an image of 1024 by 1024 pixels. The real cost depends on the model. */
const PER_MEDIUM = 765;

/** Counts with the given counter of texts. Throws `ApiError` if calls and outputs do not match. */
export function tokenCounter(
  count: (text: string, model: string, signal: AbortSignal) => Promise<number>,
): TokenCounter {
  return async (request, signal) => {
    const messages = toChatMessages(
      request,
      { systemMessages: 'keep', developerRole: 'keep', reasoningReplay: true, state: false },
      () => {},
    );
    const media = messages.flatMap(({ content }) => recordsIn(content)).filter((part) => part.type !== 'text').length;
    const tokens = await count(inputText(request, messages), request.model, signal);
    return tokens + media * PER_MEDIUM + messages.length * PER_MESSAGE + PER_REQUEST;
  };
}

/** All texts joined into one: one call of the counter, whose rounding then counts once. */
function inputText({ tools, textFormat }: ModelRequest, messages: readonly JsonObject[]): string {
  const messageTexts = messages.map((message) => {
    const { content, tool_calls: calls } = message;
    const thought = readReasoning(message);
    const texts = typeof content === 'string' ? [content] : recordsIn(content).map(({ text }) => text);
    return [thought === '' ? undefined : thought, ...texts, calls === undefined ? undefined : JSON.stringify(calls)]
      .filter((text) => typeof text === 'string')
      .join('\n');
  });
  const schema = textFormat?.type === 'json_schema' ? [JSON.stringify(textFormat.schema ?? {})] : [];
  return [...messageTexts, ...tools.map((tool) => JSON.stringify(tool)), ...schema].join('\n');
}
