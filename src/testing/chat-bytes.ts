/** Writes the answer of a Chat Completions server, for tests that do not need a recording. */

/** A delta or a message, with the API's own fields. */
export type ChatFields = Readonly<Record<string, unknown>>;

/** Fields beside a delta or a message: `finish_reason` goes into the choice, all others into the chunk around it. */
export interface ChatExtra {
  /** Why the model stopped, such as `tool_calls`; null before the end. */
  readonly finish_reason?: string | null;
  readonly [field: string]: unknown;
}

/** A finished tool call of the model; `arguments` is JSON text. */
export interface FakeToolCall {
  /** The call's id. */
  readonly id: string;
  /** The function's name. */
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

// Constants, so that a test can name the bytes it expects.
const HEAD = { id: 'chatcmpl-fake', created: 1_700_000_000, model: 'fake-model' };
const USAGE = { prompt_tokens: 9, completion_tokens: 12, total_tokens: 21 };

/** One streamed chunk as an SSE frame. `extra` overrides any field: `chatChunk({}, { choices: [], usage })`. */
export function chatChunk(delta: ChatFields, extra: ChatExtra = {}): string {
  const { finish_reason = null, ...fields } = extra;
  const choices = [{ index: 0, delta, logprobs: null, finish_reason }];
  return `data: ${JSON.stringify({ ...HEAD, object: 'chat.completion.chunk', choices, ...fields })}\n\n`;
}

/** A whole stream: a chunk for each delta, the finish chunk (`tool_calls` if a delta has any), usage and `[DONE]`. */
export function chatStream(...deltas: readonly ChatFields[]): string {
  const hasCalls = deltas.some(({ tool_calls }) => tool_calls);
  const finish = chatChunk({}, { finish_reason: hasCalls ? 'tool_calls' : 'stop' });
  const usage = chatChunk({}, { choices: [], usage: USAGE });
  return [...deltas.map((delta) => chatChunk(delta)), finish, usage, 'data: [DONE]\n\n'].join('');
}

/** A whole stream with the text: in one delta, or in one for each string. */
export function textStream(text: string | readonly string[]): string {
  const words = typeof text === 'string' ? [text] : text;
  return chatStream({ role: 'assistant', content: '' }, ...words.map((content) => ({ content })));
}

/** A whole stream with the calls: one delta with id and name, one with the arguments, for each in turn. */
export function toolCallStream(calls: readonly FakeToolCall[]): string {
  const deltas = calls.flatMap(({ id, name, arguments: text }, index) => [
    { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] },
    { tool_calls: [{ index, function: { arguments: text } }] },
  ]);
  return chatStream({ role: 'assistant', content: null }, ...deltas);
}

/** The JSON text of an answer that is not streamed; a string is the assistant's text. */
export function chatCompletion(message: string | ChatFields, extra: ChatExtra = {}): string {
  const spoken: ChatFields = typeof message === 'string' ? { content: message } : message;
  const { finish_reason = spoken.tool_calls ? 'tool_calls' : 'stop', ...fields } = extra;
  const choices = [
    { index: 0, message: { role: 'assistant', content: null, ...spoken }, logprobs: null, finish_reason },
  ];
  return JSON.stringify({ ...HEAD, object: 'chat.completion', choices, usage: USAGE, ...fields });
}
