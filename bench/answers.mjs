/** Sends one request to a server and reads its answer, in either API: a fast wrong answer must not win. */
import { isDeepStrictEqual } from 'node:util';
import { argumentsOf, echoed, expected, planOf } from './fixtures.mjs';

const PATHS = { chat: '/chat/completions', responses: '/responses', messages: '/messages', embeddings: '/embeddings' };
const ECHO = { name: 'echo', description: 'Says it again.', parameters: { type: 'object', properties: {} } };

/** The path of an API below its mount point. */
export function pathOf(api) {
  return PATHS[api];
}

/** A client's request, with the plan as the model's name; `tool` offers the tool `echo`, `logprobs` requests log probabilities, `store` goes to the Responses API. */
export function bodyOf(api, plan, { stream = true, tool = false, logprobs = false, store } = {}) {
  if (api === 'embeddings') return { model: plan, input: 'word '.repeat(200) };
  if (api === 'messages') return { model: plan, stream, max_tokens: 1000, messages: [{ role: 'user', content: 'Hi' }] };
  if (api === 'chat') {
    const tools = tool ? { tools: [{ type: 'function', function: ECHO }] } : {};
    const more = { ...(stream ? { stream_options: { include_usage: true } } : {}), ...(logprobs ? { logprobs } : {}) };
    return { model: plan, stream, messages: [{ role: 'user', content: 'Hi' }], ...tools, ...more };
  }
  const tools = tool ? { tools: [{ type: 'function', ...ECHO }] } : {};
  const more = {
    ...(logprobs ? { include: ['message.output_text.logprobs'] } : {}),
    ...(store === undefined ? {} : { store }),
  };
  return { model: plan, stream, input: 'Hi', ...tools, ...more };
}

/** The next request of a client that has run the tool itself: the second half of the work that our servers do in one request. */
export function afterTool(plan) {
  const body = bodyOf('chat', plan, { tool: true });
  const { first } = planOf(plan);
  const call = { id: 'call_bench', type: 'function', function: { name: 'echo', arguments: argumentsOf(first) } };
  const messages = [
    ...body.messages,
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: call.id, content: echoed(first) },
  ];
  return { ...body, messages };
}

/** The server's answer: its id, text, arguments of the client's calls and usage. Throws for a wrong answer. */
export async function ask({ base, api }, body, signal = AbortSignal.timeout(60_000)) {
  const answer = await fetch(base + pathOf(api), {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer bench' },
    body: JSON.stringify(body),
    signal,
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`status ${answer.status}: ${text.slice(0, 200)}`);
  const read = readers[api];
  return body.stream ? read.events(eventsIn(text)) : read.whole(JSON.parse(text));
}

function eventsIn(text) {
  const lines = text.split('\n').filter((line) => line.startsWith('data: ') && line !== 'data: [DONE]');
  return lines.map((line) => JSON.parse(line.slice('data: '.length)));
}

const readers = {
  embeddings: { whole: ({ data }) => ({ text: String(data[0].embedding.length), calls: [], usage: undefined }) },
  messages: {
    events(events) {
      const text = events.map(({ delta }) => delta?.text ?? '').join('');
      const { usage } = events.findLast(({ type }) => type === 'message_delta');
      return { text, calls: [], usage: { input: usage.input_tokens, output: usage.output_tokens } };
    },
  },
  chat: {
    events(chunks) {
      const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));
      const calls = deltas.flatMap(({ tool_calls = [] }) => tool_calls.map((call) => call.function.arguments)).join('');
      const text = deltas.map(({ content }) => content ?? '').join('');
      return { text, calls: calls ? [calls] : [], usage: chatUsage(chunks.findLast(({ usage }) => usage)?.usage) };
    },
    whole: ({ choices, usage }) => ({ text: choices[0].message.content, calls: [], usage: chatUsage(usage) }),
  },
  responses: {
    /** The deltas must contain the same as the response at the end. */
    events(events) {
      const deltas = (kind) => events.filter(({ type }) => type === `response.${kind}.delta`).map(({ delta }) => delta);
      const last = events.findLast(({ type }) => type === 'response.completed')?.response;
      if (!last) throw new Error('no response.completed');
      const { id, text, calls, usage } = readers.responses.whole(last);
      if (deltas('output_text').join('') !== text) throw new Error('deltas and response say different texts');
      if (deltas('function_call_arguments').join('') !== calls.join(''))
        throw new Error('deltas and response say different arguments');
      return { id, text, calls, usage };
    },
    whole({ id, output, usage }) {
      const parts = output.filter(({ type }) => type === 'message').flatMap(({ content }) => content);
      const calls = output.filter(({ type }) => type === 'function_call').map((call) => call.arguments);
      const counted = usage && { input: usage.input_tokens, output: usage.output_tokens };
      return { id, text: parts.map(({ text }) => text).join(''), calls, usage: counted };
    },
  },
};

function chatUsage(usage) {
  return usage && { input: usage.prompt_tokens, output: usage.completion_tokens };
}

/** Why the server's answer to the body is wrong; undefined if it is right. A peer need not count tokens. */
export async function wrongAnswer(server, body, right = expected(body.model)) {
  try {
    const { text, calls, usage } = await ask(server, body);
    const received = { text, calls, usage: server.isPeer ? right.usage : usage };
    return isDeepStrictEqual(received, right) ? undefined : `wrong answer: ${JSON.stringify(received).slice(0, 200)}`;
  } catch (error) {
    return `no answer: ${error.message}`;
  }
}
