/** What an agent sends: a long conversation and many tools, in each API. */
import { bodyOf } from '../answers.mjs';
import { BODY_SERVERS } from '../servers.mjs';
import { inRounds } from './rounds.mjs';

const ITEMS = 400;
const TOOLS = 30;
const PLAN = 'short:8';
/** Characters of a message or of what a tool has returned, with quotes and line ends as code has them. */
const LINE = 'const value = "text"; // and a comment\n';
const TEXT = LINE.repeat(28);

const parameters = {
  type: 'object',
  properties: Object.fromEntries(
    Array.from({ length: 8 }, (_, at) => [`field_${at}`, { type: 'string', description: 'What is read or written.' }]),
  ),
  required: ['field_0'],
};
const functions = Array.from({ length: TOOLS }, (_, at) => ({
  name: `tool_${at}`,
  description: 'Reads or writes a file of the project and returns its lines.',
  parameters,
}));
const argumentsJson = JSON.stringify({ field_0: LINE.repeat(10) });

/** Each quarter of the conversation: a user's message, a call, its result, and the model's text. */
const turns = Array.from({ length: ITEMS / 4 }, (_, at) => `call_${at}`);

const BODIES = {
  responses: () => ({
    input: turns.flatMap((call_id) => [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: TEXT }] },
      { type: 'function_call', call_id, name: 'tool_0', arguments: argumentsJson },
      { type: 'function_call_output', call_id, output: TEXT },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: TEXT, annotations: [] }] },
    ]),
    tools: functions.map((tool) => ({ type: 'function', strict: false, ...tool })),
  }),
  chat: () => ({
    messages: turns.flatMap((id) => [
      { role: 'user', content: TEXT },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id, type: 'function', function: { name: 'tool_0', arguments: argumentsJson } }],
      },
      { role: 'tool', tool_call_id: id, content: TEXT },
      { role: 'assistant', content: TEXT },
    ]),
    tools: functions.map((tool) => ({ type: 'function', function: tool })),
  }),
  messages: () => ({
    messages: turns.flatMap((id) => [
      { role: 'user', content: TEXT },
      { role: 'assistant', content: [{ type: 'tool_use', id, name: 'tool_0', input: JSON.parse(argumentsJson) }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: TEXT }] },
      { role: 'assistant', content: TEXT },
    ]),
    tools: functions.map(({ parameters: input_schema, ...tool }) => ({ ...tool, input_schema })),
  }),
};

export const agentBody = {
  about: `32 clients, a conversation of ${ITEMS} items and ${TOOLS} tools each, some 400 KB, answered by 8 deltas`,
  async run(bench) {
    const bodies = new Map();
    const bodiesOf = ({ name, api, wanted }) => {
      if (!bodies.has(name)) bodies.set(name, { ...bodyOf(api, PLAN, wanted), ...BODIES[api]() });
      return [bodies.get(name)];
    };
    const shortBodiesOf = ({ api, wanted }) => [bodyOf(api, PLAN, wanted)];
    const load = { connections: 32, turns: 300, warmUp: 5 };
    return inRounds(bench, await bench.startAll(BODY_SERVERS), { bodiesOf, shortBodiesOf, ...load });
  },
};
