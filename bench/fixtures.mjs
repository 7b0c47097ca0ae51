/** The answers of the bench's model server: chunks as vLLM and OpenAI write them, the same for every run. */

const HEAD = { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1_793_491_200, model: 'bench' };
const WORDS = ['The', ' quick', ' brown', ' fox', ' "jumps"', ' over\n', ' the', ' lazy', ' dög', '.'];
const DONE = 'data: [DONE]\n\n';
const PROMPT_TOKENS = 9;

/** How many deltas the model writes once the server's tool has run. */
export const AFTER_TOOL = 8;

function chunk(delta, finish_reason = null, { logprobs = null, ...more } = {}) {
  const choices = [{ index: 0, delta, logprobs, finish_reason }];
  return `data: ${JSON.stringify({ ...HEAD, choices, ...more })}\n\n`;
}

/** The word of one delta. */
export function word(index) {
  return WORDS[index % WORDS.length];
}

/** The text of so many deltas. */
export function text(deltas) {
  return Array.from({ length: deltas }, (_, index) => word(index)).join('');
}

/** The extra fields of each kind of answer. */
const EXTRAS = {
  padded: (index) => ({ obfuscation: 'x'.repeat(1 + ((index * 7) % 15)) }),
  logprobs: (index) => ({ logprobs: { content: [logprob(index)], refusal: null } }),
};

function logprob(index) {
  const token = word(index);
  return { token, logprob: -(index % 7) / 8, bytes: [...Buffer.from(token)], top_logprobs: [] };
}

function usage(completion_tokens) {
  return { prompt_tokens: PROMPT_TOKENS, completion_tokens, total_tokens: PROMPT_TOKENS + completion_tokens };
}

function usageChunk(tokens) {
  return `data: ${JSON.stringify({ ...HEAD, choices: [], usage: usage(tokens) })}\n\n`;
}

/** The events of one answer, each as on the wire; `kind` is `padded`, `logprobs` or plain. */
export function answer({ deltas, kind }) {
  const deltaChunks = Array.from({ length: deltas }, (_, index) =>
    chunk({ content: word(index) }, null, EXTRAS[kind]?.(index)),
  );
  return [chunk({ role: 'assistant', content: '' }), ...deltaChunks, chunk({}, 'stop'), usageChunk(deltas), DONE];
}

/** The events of one answer of a Responses server, as OpenAI writes them. */
export function responsesAnswer(deltas) {
  let sequence_number = 0;
  const event = (name, fields) => {
    const type = `response.${name}`;
    const data = { type, sequence_number, ...fields };
    sequence_number += 1;
    return `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
  };
  const message = { id: 'msg_bench', type: 'message', role: 'assistant' };
  const part = { type: 'output_text', text: '', annotations: [], logprobs: [] };
  const place = { item_id: message.id, output_index: 0, content_index: 0 };
  const response = {
    id: 'resp_bench',
    object: 'response',
    created_at: HEAD.created,
    status: 'in_progress',
    model: 'bench',
    output: [],
  };
  const whole = { ...part, text: text(deltas) };
  const item = { ...message, status: 'completed', content: [whole] };
  const tokens = { input_tokens: PROMPT_TOKENS, output_tokens: deltas, total_tokens: PROMPT_TOKENS + deltas };
  const details = { input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } };
  return [
    event('created', { response }),
    event('in_progress', { response }),
    event('output_item.added', { output_index: 0, item: { ...message, status: 'in_progress', content: [] } }),
    event('content_part.added', { ...place, part }),
    ...Array.from({ length: deltas }, (_, index) =>
      event('output_text.delta', { ...place, delta: word(index), logprobs: [], ...EXTRAS.padded(index) }),
    ),
    event('output_text.done', { ...place, text: whole.text, logprobs: [] }),
    event('content_part.done', { ...place, part: whole }),
    event('output_item.done', { output_index: 0, item }),
    event('completed', {
      response: { ...response, status: 'completed', output: [item], usage: { ...tokens, ...details } },
    }),
  ];
}

/** One delta with this text. */
export function delta(content) {
  return chunk({ content });
}

/** The text that the tool `echo` repeats: so many bytes. */
export function echoed(bytes) {
  return 'x'.repeat(bytes);
}

/** The arguments of such a call, as JSON text. */
export function argumentsOf(bytes) {
  return JSON.stringify({ text: echoed(bytes) });
}

function pieces(argumentsText) {
  return argumentsText.match(/[\s\S]{1,32}/g) ?? [];
}

/** A call of the tool `echo`, as a model makes it; its arguments are about `bytes` long. */
export function toolCall(bytes) {
  return callOf('echo', argumentsOf(bytes));
}

/** A call of this tool with these arguments, as JSON text. */
export function callOf(tool, argumentsText) {
  const name = { index: 0, id: 'call_bench', type: 'function', function: { name: tool, arguments: '' } };
  const parts = pieces(argumentsText);
  return [
    chunk({ role: 'assistant', content: null, tool_calls: [name] }),
    ...parts.map((piece) => chunk({ tool_calls: [{ index: 0, function: { arguments: piece } }] })),
    chunk({}, 'tool_calls'),
    usageChunk(parts.length),
    DONE,
  ];
}

/** An answer without a stream, as one JSON body. */
export function completion(deltas) {
  const message = { role: 'assistant', content: text(deltas) };
  const choices = [{ index: 0, message, finish_reason: 'stop' }];
  return JSON.stringify({ ...HEAD, object: 'chat.completion', choices, usage: usage(deltas) });
}

/** One embedding with so many dimensions. */
export function embeddings(dimensions) {
  const embedding = Array.from({ length: dimensions }, (_, at) => at / dimensions);
  const data = [{ object: 'embedding', index: 0, embedding }];
  return JSON.stringify({ object: 'list', data, model: 'bench', usage: { prompt_tokens: 200, total_tokens: 200 } });
}

/** The parts of a plan, which is sent as the model's name: `burst:500`, `paced:50:20`, `arguments:16384`. */
export function planOf(name) {
  const [kind, first = '8', second = '20'] = name.split(':');
  return { kind, first: Number(first), second: Number(second) };
}

/** The correct answer to a plan, whatever server is in between. */
export function expected(name) {
  const { kind, first } = planOf(name);
  if (kind === 'embeddings') return { text: String(first), calls: [], usage: undefined };
  const answered = (words, calls, output) => ({ text: words, calls, usage: { input: PROMPT_TOKENS, output } });
  if (kind === 'arguments') return answered('', [argumentsOf(first)], pieces(argumentsOf(first)).length);
  return answered(text(first), [], first);
}
