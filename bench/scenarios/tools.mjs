/** One round of a tool that the server runs, compared with a client that runs it and sends two requests through a pass-through. */
import { afterTool, bodyOf } from '../answers.mjs';
import { AFTER_TOOL, argumentsOf, expected } from '../fixtures.mjs';
import { SERVERS, TOOL_SERVERS, withArgument } from '../servers.mjs';
import { inRounds } from './rounds.mjs';

const BYTES = 16;
const PLAN = `tool:${BYTES}`;
const LOAD = { connections: 32, turns: 500 };
const PASS_THROUGH = 'pass-through';

/** The model's call, and its text once the tool has run. */
const CALL = { text: '', calls: [argumentsOf(BYTES)], usage: { input: 9, output: 1 } };
const TEXT = expected(`burst:${AFTER_TOOL}`);
const BOTH = { ...TEXT, usage: { input: 2 * TEXT.usage.input, output: TEXT.usage.output + CALL.usage.output } };

/** The requests to each server in a turn, with the correct answers. */
export function toolBodies({ name, api }) {
  if (name !== PASS_THROUGH) return [[bodyOf(api, PLAN), BOTH]];
  return [
    [bodyOf(api, PLAN, { tool: true }), CALL],
    [afterTool(PLAN), TEXT],
  ];
}

/** An MCP server and where it is. */
export async function startMcp(bench) {
  const { port, child } = await bench.startHelper('servers/mcp.mjs');
  return { url: `http://127.0.0.1:${port}/mcp`, child };
}

async function run(bench, servers) {
  const started = await bench.startAll({ [PASS_THROUGH]: SERVERS[PASS_THROUGH], ...servers });
  return inRounds(bench, started, { bodiesOf: toolBodies, ...LOAD });
}

export const chatTools = {
  forGoals: false,
  about: '32 clients, one call of a function of the server and 8 deltas; the pass-through’s client asks twice',
  run: (bench) => run(bench, TOOL_SERVERS.tool),
};

export const mcp = {
  forGoals: false,
  about: 'the same with a tool of an MCP server on loopback',
  async run(bench) {
    const { url, child } = await startMcp(bench);
    const report = await run(bench, withArgument(TOOL_SERVERS.mcp, url));
    child.kill();
    return report;
  },
};
