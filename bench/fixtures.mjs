/** What the bench's model server says: chunks as vLLM and OpenAI write them, the same for every run. */

const HEAD = { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1_793_491_200, model: 'bench' };
const WORDS = ['The', ' quick', ' brown', ' fox', ' "jumps"', ' over\n', ' the', ' lazy', ' dög', '.'];

function chunk(delta, finish_reason = null, more = {}) {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason }];
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

function padding(index) {
  return { obfuscation: 'x'.repeat(1 + ((index * 7) % 15)) };
}

/** The events of one answer, each as its bytes stand on the wire. */
export function answer({ deltas, padded = false }) {
  const said = Array.from({ length: deltas }, (_, index) =>
    chunk({ content: word(index) }, null, padded ? padding(index) : {}),
  );
  const usage = { prompt_tokens: 9, completion_tokens: deltas, total_tokens: 9 + deltas };
  return [
    chunk({ role: 'assistant', content: '' }),
    ...said,
    chunk({}, 'stop'),
    `data: ${JSON.stringify({ ...HEAD, choices: [], usage })}\n\n`,
    'data: [DONE]\n\n',
  ];
}

/** A call of the server's own tool, as a model makes it; its arguments are `bytes` long. */
export function toolCall(bytes = 16) {
  const name = { index: 0, id: 'call_bench', type: 'function', function: { name: 'echo', arguments: '' } };
  const argument = JSON.stringify({ text: 'x'.repeat(bytes) });
  const pieces = argument.match(/[\s\S]{1,32}/g) ?? [];
  const deltas = pieces.map((piece) => chunk({ tool_calls: [{ index: 0, function: { arguments: piece } }] }));
  return [
    chunk({ role: 'assistant', content: null, tool_calls: [name] }),
    ...deltas,
    chunk({}, 'tool_calls'),
    'data: [DONE]\n\n',
  ];
}

/** The same as one JSON body. */
export function completion(deltas) {
  const message = { role: 'assistant', content: text(deltas) };
  const usage = { prompt_tokens: 9, completion_tokens: deltas, total_tokens: 9 + deltas };
  const choices = [{ index: 0, message, finish_reason: 'stop' }];
  return JSON.stringify({ ...HEAD, object: 'chat.completion', choices, usage });
}
