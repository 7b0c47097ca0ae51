/**
 * What the compiler says of wrong options, in a project with `strict`: the first line stands at the option or names it, and
 * names the type that it should have.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PATIENCE_MS } from '../support/patience.ts';
import { describeWhere } from '../support/skipping.ts';

const root = join(import.meta.dirname, '../..');

const IMPORTS = `
import { createServer } from 'node:http';
import { chatCompletionsRouter, chatCompletionsUpstream, functionTools, heartbeat, injectTools, memoryStore, messagesRouter, openResponses, recordTurn, type ResponseStore, responsesRouter, type ToolProvider, type Upstream, validateMessages } from 'express-open-responses';
import { tokenBudget } from 'express-open-responses/budgets';
import { codeInterpreter } from 'express-open-responses/code-interpreter';
import { egressGuard } from 'express-open-responses/egress';
import { filesRouter, memoryFiles } from 'express-open-responses/files';
import { pii } from 'express-open-responses/guards';
import { createInspector } from 'express-open-responses/inspector';
import { mcpTools } from 'express-open-responses/mcp';
import { balanced, routedUpstream } from 'express-open-responses/routing';
import { encryptedStore } from 'express-open-responses/stores/encrypted';
import { postgresStore } from 'express-open-responses/stores/postgres';
import { anthropicUpstream } from 'express-open-responses/upstreams/anthropic';
import { createVectorStores, memoryVectors, vectorStoresRouter } from 'express-open-responses/vector-stores';
import { webSearch } from 'express-open-responses/web-search';
import { attachResponsesWebSocket } from 'express-open-responses/websocket';
import { z } from 'zod';
const files = memoryFiles();
const upstream = chatCompletionsUpstream();
`;

/** A wrong line, the option at fault, and what names the type that is expected. */
const MISUSES: readonly (readonly [line: string, option: string, type: string])[] = [
  // Names that there are not.
  ['responsesRouter({ upstraem: upstream })', 'upstraem', 'RouterOptions'],
  ['responsesRouter({ limits: { toolTimeoutMs: 5 } })', 'toolTimeoutMs', 'LimitOptions'],
  ['responsesRouter({ limits: { tools: { toolTimeoutMs: 5 } } })', 'toolTimeoutMs', 'ToolLimits'],
  ['responsesRouter({ heartbeat: { interval: 5 } })', 'interval', 'HeartbeatOptions'],
  ['responsesRouter({ hooks: { onErorr() {} } })', 'onErorr', 'Hooks'],
  ['responsesRouter({ guards: { inputs: [pii()] } })', 'inputs', 'GuardOptions'],
  ["responsesRouter({ prompts: { weather: { instruction: 'Hi' } } })", 'instruction', 'Prompt'],
  ["responsesRouter({ compaction: { promt: '' } })", 'promt', 'CompactionOptions'],
  ["chatCompletionsUpstream({ baseUrl: 'http://localhost' })", 'baseUrl', 'ChatCompletionsOptions'],
  ["anthropicUpstream({ apikey: 'key' })", 'apikey', 'AnthropicOptions'],
  ['filesRouter({ files, limits: { fileBytes: 1 } })', 'limits', 'FilesRouterOptions'],
  ['tokenBudget({ limits: { token: { points: 5, duration: 60 } } })', 'token', 'BudgetLimits'],
  ["mcpTools({ servers: { a: { comand: 'npx' } } })", 'comand', 'McpServerConfig'],
  ['attachResponsesWebSocket(createServer(), { upstraem: upstream })', 'upstraem', 'ServedByWebSocket'],
  ['recordTurn({ stores: memoryStore() })', 'stores', 'MiddlewareOptions'],
  ['injectTools({ tool: [] })', 'tool', 'MiddlewareOptions'],
  ["encryptedStore(memoryStore(), { key: 'secret' })", 'key', 'EncryptedStoreOptions'],
  ['createInspector({ maxResponse: 5 })', 'maxResponse', 'InspectorOptions'],
  ["createVectorStores({ files, index: memoryVectors(), embeddings: { url: 'x', model: 'm' } })", 'url', 'Embedder'],
  ['functionTools({ a: { paramters: {}, execute: () => 1 } })', 'paramters', 'FunctionTool'],
  ["functionTools({ a: { execute: () => 1 } }, { name: 'x' })", 'name', 'FunctionToolsOptions'],
  // Values of another type.
  ["responsesRouter({ upstream: 'http://localhost:8000/v1' })", 'upstream', 'Upstream'],
  ['responsesRouter({ store: memoryStore })', 'store', 'ResponseStore'],
  ["responsesRouter({ scope: 'everyone' })", 'scope', ') => string'],
  ['responsesRouter({ limits: { tools: 5 } })', 'tools', 'ToolLimits'],
  ["responsesRouter({ limits: { request: { bodyBytes: '32mb' } } })", 'bodyBytes', 'number'],
  ['responsesRouter({ heartbeat: 5000 })', 'heartbeat', 'HeartbeatOptions'],
  ["responsesRouter({ heartbeat: { style: 'dots' } })", 'style', '"comment" | "keepalive" | "ping"'],
  ["responsesRouter({ dialect: 'openia' })", 'dialect', 'DialectName'],
  ["responsesRouter({ show: { reasoning: 'full' } })", 'reasoning', '"spec" | "summary" | "text"'],
  ["responsesRouter({ hooks: { onError: 'log' } })", 'onError', '(error: ApiError'],
  ['responsesRouter({ guards: { input: pii() } })', 'input', 'Guard'],
  ['responsesRouter({ logger: true })', 'logger', 'Logger'],
  ["chatCompletionsRouter({ offeredTools: 'none' })", 'offeredTools', '"all" | "allowed"'],
  ["messagesRouter({ onStoreError: 'ignore' })", 'onStoreError', '"continue" | "fail"'],
  ["chatCompletionsUpstream({ provider: 'opnai' })", 'provider', 'ProviderOption'],
  ["chatCompletionsUpstream({ baseURL: new URL('http://x') })", 'baseURL', 'string'],
  ['chatCompletionsUpstream({ headers: { a: 1 } })', 'a', 'string'],
  ["filesRouter({ files, quota: { fileBytes: '1' } })", 'fileBytes', 'number'],
  ['vectorStoresRouter({ vectorStores: memoryVectors() })', 'vectorStores', 'VectorStores'],
  ['tokenBudget({ limits: { tokens: 5 } })', 'tokens', 'LimitWindow'],
  ['tokenBudget({ limits: { cost: { points: 5, duration: 60 } } })', 'cost', 'DollarWindow'],
  ["routedUpstream({ routes: { 'a*': 'http://x' } })", 'a*', 'Target'],
  ["balanced([upstream], { by: 'random' })", 'by', '"least-busy"'],
  ["egressGuard({ allow: ['example.com'] })", 'allow', 'EgressRule'],
  ["pii({ kinds: ['mail'] })", 'kinds', 'PiiKind'],
  ["validateMessages({ mode: 'strict' })", 'mode', '"reject" | "repair"'],
  ["heartbeat({ intervalMs: '5' })", 'intervalMs', 'number'],
  ['openResponses({ basePath: 5 })', 'basePath', 'string'],
  ["webSearch({ engine: 'searxng' })", 'engine', 'SearchEngine'],
  ["codeInterpreter({ runtime: 'python' })", 'runtime', 'CodeRuntime'],
  ['functionTools({ a: { parameters: 7, execute: () => 1 } })', 'parameters', 'ToolSchema'],
  ["functionTools({ a: { execute: 'run' } })", 'execute', '=> unknown'],
  // What the host's functions receive and return.
  ['responsesRouter({ scope: () => 7 })', 'scope', ') => string'],
  ["responsesRouter({ scope: async () => 'me' })", 'scope', ') => string'],
  ["responsesRouter({ approval: () => 'yes' })", 'approval', ') => boolean'],
  ['responsesRouter({ approval: async () => true })', 'approval', ') => boolean'],
  ['filesRouter({ files, scope: () => undefined })', 'scope', ') => string'],
  ['recordTurn({ scope: () => 7 })', 'scope', ') => string'],
  ["tokenBudget({ cost: () => '1' })", 'cost', ') => number'],
  ['responsesRouter({ hooks: { onResponse: (info) => info.tokens } })', 'tokens', 'ResponseInfo'],
  [
    'functionTools({ a: { parameters: z.object({ city: z.string() }), execute: ({ town }) => town } })',
    'town',
    '{ city: string; }',
  ],
  [
    "functionTools({ a: { parameters: { type: 'object', properties: { city: { type: 'string' } } }, execute: ({ town }) => town } })",
    'town',
    '{ readonly city?: string',
  ],
  // What is missing.
  ["responsesRouter({ store: { name: 'own', get() { return undefined; }, put() {} } })", 'delete', 'ResponseStore'],
  ["responsesRouter({ tools: [{ name: 'own' }] })", 'call', 'ToolProvider'],
  ["functionTools({ a: { description: 'None.' } })", 'execute', 'FunctionTool'],
  ['filesRouter({})', 'files', 'FilesRouterOptions'],
  ['postgresStore({})', 'pool', 'PostgresStoreOptions'],
  // Parts of the host's own.
  [
    "export const a: ResponseStore = { name: 'x', get: () => undefined, put() {}, delete: () => 'x' }",
    'delete',
    'boolean',
  ],
  ["export const b: Upstream = { name: 'x', stream: () => [] }", 'stream', 'AsyncIterable'],
  [
    "export const c: ToolProvider = { name: 'x', list: () => [{ name: 'a' }], call: async () => ({ content: '' }) }",
    'server',
    'ProvidedTool',
  ],
];

interface Message {
  /** The text from the line's beginning to the end of the word that the message stands at. */
  readonly place: string;
  /** The first line of what the compiler says. */
  readonly text: string;
}

/** The messages by the line's number among the misuses. */
function compiled(): ReadonlyMap<number, readonly Message[]> {
  mkdirSync(join(root, 'build'), { recursive: true });
  const folder = mkdtempSync(join(root, 'build/misuses-'));
  const first = IMPORTS.split('\n').length;
  const compilerOptions = {
    ...{ exactOptionalPropertyTypes: false, noUncheckedIndexedAccess: false, types: ['node'] },
    // The declarations of the build, as hosts have them: with the sources, the compiler would check all of these, too.
    ...{ paths: {}, noEmit: true },
  };
  const config = { extends: '../../tsconfig.json', compilerOptions, include: [], exclude: [], files: ['misuses.ts'] };
  try {
    writeFileSync(join(folder, 'misuses.ts'), `${IMPORTS}\n${MISUSES.map(([line]) => `${line};`).join('\n')}\n`);
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const tsc = join(root, 'node_modules/.bin/tsc');
    const { stdout } = spawnSync(tsc, ['-p', '.', '--pretty', 'false'], {
      cwd: folder,
      encoding: 'utf8',
      timeout: PATIENCE_MS,
    });
    const messages = new Map<number, Message[]>();
    for (const [, row, column, text = ''] of stdout.matchAll(/^misuses\.ts\((\d+),(\d+)\): error TS\d+: (.*)$/gm)) {
      const index = Number(row) - first - 1;
      const [line = ''] = MISUSES[index] ?? [];
      const end = line.slice(Number(column) - 1).search(/[^\w'*]/) + Number(column) - 1;
      messages.set(index, [...(messages.get(index) ?? []), { place: line.slice(0, end), text }]);
    }
    return messages;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The option that a place is in: the name before its last colon, or the word at its end. */
function optionAt(place: string): string | undefined {
  return /(?:^|[\s{[(])'?([\w*]+)'?(?:: *(?:[[(]?(?:\([^)]*\) => |async |new )*['"\w.]*)?)?$/.exec(place)?.[1];
}

describeWhere(existsSync(join(root, 'dist/cjs/index.d.ts')), 'there is no dist/cjs/index.d.ts')(
  'the compiler’s first line about',
  () => {
    let messages: ReadonlyMap<number, readonly Message[]>;

    beforeAll(() => {
      messages = compiled();
    }, PATIENCE_MS);

    it.each(MISUSES.map((misuse, index) => [...misuse, index] as const))('%s', (_, option, type, index) => {
      const [{ place, text } = { place: '', text: '' }] = messages.get(index) ?? [];
      const names = [...text.matchAll(/'(\w+)'/g)].map(([, name]) => name);
      const missing =
        /following properties from type .*: (.*?)(?:, and \d+ more)?\.?$/.exec(text)?.[1]?.split(', ') ?? [];
      expect({ text, options: [optionAt(place), ...names, ...missing] }).toEqual({
        text: expect.stringContaining(type),
        options: expect.arrayContaining([option]),
      });
      // What whoever reads it in an editor sees without scrolling; Express' own request is long.
      expect(text.replace(/Request<[^>]*>+/g, 'Request').length).toBeLessThan(240);
      expect(text).not.toMatch(/No overload|\.\.\. \d+ more/);
    });
  },
);
