/** The servers under test, ours and others. */
import { readFileSync } from 'node:fs';
import { answerOf, stopped } from './processes.mjs';

/** By name, in the order of the tables: the file, its arguments and the API that it speaks. The first is the baseline of comparisons. */
export const SERVERS = {
  'pass-through': { file: 'pass-through.mjs', api: 'chat' },
  'pass-through in Express': { file: 'pass-through-express.mjs', api: 'chat' },
  'ours in Express': { file: 'ours.mjs', args: ['express'], api: 'responses' },
  'ours on node:http': { file: 'ours.mjs', args: ['core'], api: 'responses' },
  'ours, chat': { file: 'ours.mjs', args: ['chat'], api: 'chat' },
  'bare in Express': { file: 'bare.mjs', api: 'responses' },
  naive: { file: 'naive.mjs', api: 'responses' },
};

/** The servers that run tools: a function of their own, or the tool of an MCP server, whose URL is one more argument. */
export const TOOL_SERVERS = {
  tool: {
    'ours in Express': { file: 'ours.mjs', args: ['express-tool'], api: 'responses' },
    'ours, chat': { file: 'ours.mjs', args: ['chat-tool'], api: 'chat' },
  },
  mcp: {
    'ours in Express': { file: 'ours.mjs', args: ['express-mcp'], api: 'responses' },
    'ours, chat': { file: 'ours.mjs', args: ['chat-mcp'], api: 'chat' },
  },
};

/** One model server directly, which is the baseline, and as the only one of `balanced`. */
export const ROUTING_SERVERS = {
  'one server': { file: 'ours.mjs', args: ['core'], api: 'responses' },
  balanced: { file: 'ours.mjs', args: ['core-balanced'], api: 'responses' },
};

/** Over a server of the Responses API. */
export const RESPONSES_SERVERS = {
  'pass-through': { file: 'pass-through.mjs', args: ['/v1/responses'], api: 'responses' },
  'pass-through in Express': { file: 'pass-through-express.mjs', args: ['/v1/responses'], api: 'responses' },
  'ours in Express': { file: 'ours.mjs', args: ['express-responses'], api: 'responses' },
};

/** A process under load that stores nothing, with V8's own size of the young generation and with a smaller one. */
export const BUSY_SERVERS = {
  'pass-through': SERVERS['pass-through'],
  'pass-through in Express': SERVERS['pass-through in Express'],
  'ours in Express': SERVERS['ours in Express'],
  'ours, --max-semi-space-size=8': { ...SERVERS['ours in Express'], flags: ['--max-semi-space-size=8'] },
};

/** An app in Express that parses bodies with `express.json` and sends them with `fetch`, and this package, with what its requests ask for. */
export const BODY_SERVERS = {
  'express.json and fetch': { file: 'json-and-fetch.mjs', api: 'chat' },
  'ours, responses': { file: 'ours.mjs', args: ['express'], api: 'responses', ask: { store: false } },
  'ours, responses, stored': { file: 'ours.mjs', args: ['express'], api: 'responses', ask: { store: true } },
  'ours, chat': { file: 'ours.mjs', args: ['chat'], api: 'chat' },
  'ours, messages': { file: 'ours.mjs', args: ['messages'], api: 'messages' },
};

/** Streams that wait for the model server, and those that are opened before it answers. */
export const OPENING_SERVERS = {
  'opened with the answer': { file: 'ours.mjs', args: ['express'], api: 'responses' },
  'opened after 1 ms': { file: 'ours.mjs', args: ['express-early'], api: 'responses' },
};

/** A provider of the AI SDK alone, and behind `aiSdkUpstream`. */
export const AI_SDK_SERVERS = {
  'the provider alone, in Express': { file: 'ai-sdk.mjs', api: 'chat' },
  'ours over the provider': { file: 'ours.mjs', args: ['express-aiSdk'], api: 'responses' },
  'ours over HTTP': { file: 'ours.mjs', args: ['express'], api: 'responses' },
};

/** Requests that are passed on, by a handler that pipes and by `passThroughRouter`. */
export const PASSED_SERVERS = {
  'piping in Express': { file: 'passed.mjs', args: ['plain'], api: 'embeddings' },
  passThroughRouter: { file: 'passed.mjs', args: ['ours'], api: 'embeddings' },
};

/** This package without options that cost something, and with one of them each. */
export const OPTION_SERVERS = {
  'no option': { file: 'ours.mjs', args: ['core'], api: 'responses' },
  'output: [pii()]': { file: 'ours.mjs', args: ['core-pii'], api: 'responses' },
  inspector: { file: 'ours.mjs', args: ['core-inspector'], api: 'responses' },
};

/** The same servers, each with one more argument. */
export function withArgument(servers, argument) {
  return Object.fromEntries(
    Object.entries(servers).map(([name, server]) => [name, { ...server, args: [...server.args, argument] }]),
  );
}

/** Starts one of them in front of the model server at that port; `side` selects the core. */
export async function startServer(start, name, { file, args = [], api, flags, ask }, upstreamPort, side = 'server') {
  const child = start(`servers/${file}`, [upstreamPort, ...args], side, flags);
  const { port } = await answerOf(child);
  return {
    /** What its requests ask besides. */
    wanted: ask,
    ...{ name, api, host: '127.0.0.1', port, base: `http://127.0.0.1:${port}/v1`, prefix: '/v1', isPeer: false },
    /** CPU in µs, RSS and heap in bytes; `collected` collects garbage first. */
    usage: (ask = 'usage') => answerOf(child, { ask }),
    ask: (message) => answerOf(child, message),
    stop: () => stopped(child),
  };
}

/** A server that was started elsewhere: the usage of its process is measured if its id is known. */
export function peerServer({ name, url, pid, upstream = 'chat' }) {
  const { hostname: host, port, protocol, pathname } = new URL(url);
  if (protocol !== 'http:') throw new TypeError(`--peer: ${name} must be at an http URL, got '${url}'`);
  const prefix = pathname.replace(/\/+$/, '');
  return {
    ...{
      name,
      api: 'responses',
      host,
      port: Number(port || 80),
      base: `http://${host}:${port || 80}${prefix}`,
      prefix,
    },
    isPeer: true,
    /** The API of its model server. */
    upstream,
    usage: async () => (pid === undefined ? { cpu: Number.NaN, rss: Number.NaN, heap: Number.NaN } : usageOf(pid)),
    async stop() {},
  };
}

// A clock tick of Linux is a hundredth of a second on all platforms of Node.
const TICK_US = 10_000;

function usageOf(pid) {
  // The name of the program, in parentheses, may hold spaces.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ');
  const rss = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return { cpu: (Number(fields[11]) + Number(fields[12])) * TICK_US, rss: Number(rss) * 1024, heap: Number.NaN };
}
