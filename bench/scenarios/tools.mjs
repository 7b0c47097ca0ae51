/** One round of a tool that the server runs, against a client that runs it and asks twice through a pass-through. */
import { afterTool, bodyOf } from '../answers.mjs';
import { AFTER_TOOL, argumentsOf, expected } from '../fixtures.mjs';
import { SERVERS, TOOL_SERVERS } from '../servers.mjs';
import { inRounds } from './rounds.mjs';

const BYTES = 16;
const PLAN = `tool:${BYTES}`;
const LOAD = { connections: 32, turns: 1000 };
const PASS_THROUGH = 'pass-through';

/** The model's call, and its text once the tool has run. */
const CALL = { text: '', calls: [argumentsOf(BYTES)], usage: { input: 9, output: 1 } };
const TEXT = expected(`burst:${AFTER_TOOL}`);
const BOTH = { ...TEXT, usage: { input: 2 * TEXT.usage.input, output: TEXT.usage.output + CALL.usage.output } };

/** What each is sent in a turn, and what it must say to that. */
export function toolBodies({ name, api }) {
  if (name !== PASS_THROUGH) return [[bodyOf(api, PLAN), BOTH]];
  return [
    [bodyOf(api, PLAN, { tool: true }), CALL],
    [afterTool(PLAN), TEXT],
  ];
}

async function run(bench, servers) {
  const started = await bench.startAll({ [PASS_THROUGH]: SERVERS[PASS_THROUGH], ...servers });
  return inRounds(bench, started, { bodiesOf: toolBodies, ...LOAD });
}

export const chatTools = {
  about: '32 clients, one call of a function of the server and 8 deltas; the pass-through’s client asks twice',
  run: (bench) => run(bench, TOOL_SERVERS.tool),
};

export const mcp = {
  about: 'the same with a tool of an MCP server on loopback',
  async run(bench) {
    const { port, child } = await bench.startHelper('servers/mcp.mjs');
    const url = `http://127.0.0.1:${port}/mcp`;
    const over = ([name, server]) => [name, { ...server, args: [...server.args, url] }];
    const report = await run(bench, Object.fromEntries(Object.entries(TOOL_SERVERS.mcp).map(over)));
    child.kill();
    return report;
  },
};
