/** What each agent is asked to do, how it is started, and what the model says to it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as documented from './documented.mjs';

const EVERYTHING = join(
  import.meta.dirname,
  '../../node_modules/@modelcontextprotocol/server-everything/dist/index.js',
);

const CODEX = 'codex/vendor/x86_64-unknown-linux-musl/bin/codex';
const OPENCODE = 'opencode-linux-x64/bin/opencode';
const CLAUDE = '@anthropic-ai/claude-code-linux-x64/claude';
const PI = '@mariozechner/pi-coding-agent/dist/cli.js';

/** The packages, with the versions that were tried; Codex's binary is a version of its own. */
export const packages = [
  'codex@npm:@openai/codex@0.171.0-linux-x64',
  'opencode-linux-x64@1.18.33',
  '@mariozechner/pi-coding-agent@0.73.1',
  '@anthropic-ai/claude-code@2.1.332',
];

const PATCH = '*** Begin Patch\n*** Add File: made.txt\n+Made by the agent.\n*** End Patch\n';
const SHELL = 'echo "Made by the agent." > made.txt && echo SHELL_RAN';

/** What admits to the company's MCP server. */
const COMPANY_KEY = 'key-of-the-company';

const MADE = 'Made by the agent.\n';

/** About as long as an argument of a command may be. */
const LONG = 'These words are to be read. '.repeat(4_500);

const EVERYTHING_SERVER = `mcp_servers.everything={command="${process.execPath}",args=["${EVERYTHING}","stdio"]}`;

/** How it is started, given where the scene happens: the packages, its home, the folder it works in, and the API. */
function codex(model, settings = '', more = []) {
  return ({ modules, home, work, url }) => {
    const provider = `name="x",base_url="${url}",wire_api="responses",env_key="FAKE_KEY",request_max_retries=0,stream_max_retries=0`;
    const config = ['-c', 'model_provider=x', '-c', `model_providers.x={${provider}${settings}}`];
    const flags = ['--skip-git-repo-check', '--ephemeral', '--dangerously-bypass-approvals-and-sandbox'];
    const args = [
      'exec',
      ...flags,
      '--disable',
      'plugins',
      '-C',
      work,
      '-m',
      model,
      ...config,
      ...more,
      '--json',
      'Make made.txt.',
    ];
    return { program: join(modules, CODEX), args, env: { CODEX_HOME: home, FAKE_KEY: 'client-key' } };
  };
}

/** The tools that it offers depend on the model's name. */
function opencode(model) {
  return ({ modules, url }) => {
    const limit = { context: 100_000, output: 4_000 };
    const provider = {
      options: { baseURL: url, apiKey: 'client-key' },
      models: { [model]: { name: model, tool_call: true, limit } },
    };
    const config = {
      model: `openai/${model}`,
      small_model: `openai/${model}`,
      autoupdate: false,
      share: 'disabled',
      permission: { bash: 'allow', edit: 'allow' },
      provider: { openai: provider },
    };
    const env = {
      OPENCODE_CONFIG_CONTENT: JSON.stringify(config),
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_AUTOUPDATE: '1',
    };
    return { program: join(modules, OPENCODE), args: ['run', '--format', 'json', 'Make made.txt.'], env };
  };
}

function pi({ modules, home, url }) {
  const folder = join(home, 'agent');
  mkdirSync(folder, { recursive: true });
  const x = { baseUrl: url, api: 'openai-responses', apiKey: 'client-key', models: [{ id: 'm' }] };
  writeFileSync(join(folder, 'models.json'), JSON.stringify({ providers: { x } }));
  const flags = ['--provider', 'x', '--model', 'm', '--no-session', '--offline', '--mode', 'json'];
  const args = [join(modules, PI), ...flags, '-p', 'Make made.txt.'];
  return { program: process.execPath, args, env: { PI_CODING_AGENT_DIR: folder, PI_OFFLINE: '1' } };
}

/** It speaks Anthropic's API, and asks nobody but this server. */
function claude(prompt = 'Make made.txt.') {
  return (place) => claudeAsked(prompt, place);
}

function claudeAsked(prompt, { modules, home, url }) {
  const flags = ['--model', 'm', '--output-format', 'stream-json', '--verbose', '--dangerously-skip-permissions'];
  const env = {
    ANTHROPIC_BASE_URL: url.replace(/\/v1$/, ''),
    ANTHROPIC_API_KEY: 'client-key',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    CLAUDE_CONFIG_DIR: home,
    DISABLE_AUTOUPDATER: '1',
    IS_SANDBOX: '1',
  };
  return { program: join(modules, CLAUDE), args: ['-p', prompt, ...flags], env };
}

/** What Claude Code does over any model server. */
const CLAUDE_SCENES = [
  {
    name: 'Claude Code answers',
    start: claude('Say that the work is done.'),
    calls: [],
  },
  {
    name: 'Claude Code runs a command, and reads what it has made',
    start: claude(),
    calls: [
      { name: 'Bash', arguments: { command: SHELL, description: 'Makes a file.' } },
      { name: 'Bash', arguments: { command: 'cat made.txt', description: 'Reads it.' } },
    ],
    reported: /SHELL_RAN/,
    makes: MADE,
  },
  {
    name: 'Claude Code finds a tool that it keeps out of its first request',
    start: claude(),
    calls: [
      { name: 'ToolSearch', arguments: { query: 'select:NotebookEdit', max_results: 1 } },
      { name: 'NotebookEdit', arguments: { notebook_path: '/none.ipynb', new_source: 'a' } },
    ],
    finds: 'NotebookEdit',
    reported: /none\.ipynb|not exist|must be read|File has not been read/,
  },
  {
    name: 'Claude Code writes a file and edits it',
    start: claude(),
    calls: [
      { name: 'Write', arguments: { file_path: 'made.txt', content: 'Made by nobody.\n' } },
      { name: 'Edit', arguments: { file_path: 'made.txt', old_string: 'nobody', new_string: 'the agent' } },
    ],
    reported: /made\.txt/,
    makes: MADE,
  },
  {
    name: 'Claude Code sends a long context',
    start: claude(`${LONG}Make made.txt.`),
    calls: [{ name: 'Bash', arguments: { command: SHELL, description: 'Makes a file.' } }],
    reported: /SHELL_RAN/,
    brings: LONG,
    makes: MADE,
  },
  {
    name: 'Claude Code goes on with a summary where the context of the model is full',
    start: claude(),
    calls: [{ name: 'Bash', arguments: { command: SHELL, description: 'Makes a file.' } }],
    reported: /SHELL_RAN/,
    fills: 'compact_boundary',
    makes: MADE,
  },
  {
    name: 'Claude Code counts what its context holds',
    start: claude('/context'),
    calls: [],
    counts: true,
  },
];

/** The example app speaks Chat Completions to its model server; over the others there is the Messages API alone. */
function overEachUpstream(given) {
  const others = ['responsesUpstream', 'anthropicUpstream, passed on', 'anthropicUpstream, with tools'];
  const over = (upstream) => given.map((scene) => ({ ...scene, name: `${scene.name}, over ${upstream}`, upstream }));
  return [...given, ...others.flatMap(over)];
}

/** The installed programs, by the names that the documentation calls them. */
const PROGRAMS = { codex: CODEX, claude: CLAUDE, opencode: OPENCODE, pi: PI };

/** A start with the settings of the documentation; its commands name the program. */
function asDocumented(start, ...where) {
  return (place) => start(({ program }) => join(place.modules, PROGRAMS[program]), ...where)(place);
}

/**
 * Each scene: the agent runs the tools that the model calls, one after the other or those of a list at once, sends the
 * model their results, and shows what it answers. `reported` is what the model must have received of a run, and `makes` what must
 * then be in the file. With `searches` the server searches the web, and with a `companyKey` an MCP server is beside it; `finds` is a tool that the model is not offered at first,
 * `brings` what a request must hold, and with `counts` the agent asks for numbers of tokens. With `fills` the context of
 * the model is full after its first call, and the agent prints this when it has made a summary. It must
 * never print what the API `hides`, and with `quiet` no warning; with `silent` an ordinary user starts it, and its error stream tells nothing at all; it prints what it `shows`. `upstream` is the one behind the Messages API; without it the example app is asked. With `program`
 * it asks the program, and that this API.
 */
export const scenes = [
  {
    name: 'Codex runs a command',
    start: codex('fake-model'),
    calls: [{ name: 'exec_command', arguments: { cmd: SHELL } }],
    reported: /SHELL_RAN/,
    makes: MADE,
  },
  {
    name: 'Codex reads the facts about its model from the API, and warns of nothing',
    start: (place) => codex('fake-model', `,model_catalog_url="${place.url}/models"`)(place),
    calls: [{ name: 'exec_command', arguments: { cmd: SHELL } }],
    reported: /SHELL_RAN/,
    makes: MADE,
    quiet: true,
  },
  {
    name: 'Codex applies a patch, by its free-text tool',
    start: codex('gpt-5.5'),
    calls: [{ name: 'apply_patch', arguments: { input: PATCH } }],
    reported: /made\.txt/,
    makes: MADE,
  },
  {
    name: 'Codex runs a tool of an MCP server of its own, which it keeps in a namespace',
    start: codex('fake-model', '', ['-c', EVERYTHING_SERVER]),
    calls: [{ name: 'mcp__everything__echo', arguments: { message: 'hi' } }],
    reported: /Echo: hi/,
  },
  {
    name: 'Codex looks for a tool of its MCP server itself, which it keeps out of its first request',
    start: codex('gpt-5.5', '', ['-c', EVERYTHING_SERVER]),
    calls: [
      { name: 'tool_search', arguments: { query: 'echo a message' } },
      { name: 'mcp__everything__echo', arguments: { message: 'hi' } },
    ],
    finds: 'mcp__everything__echo',
    reported: /Echo: hi/,
  },
  {
    name: 'Codex has the server search the web, and sends the search back with its own work',
    searches: true,
    start: codex('fake-model', '', ['-c', 'web_search="live"']),
    calls: [
      { name: 'web_search', arguments: { query: 'owls' } },
      { name: 'exec_command', arguments: { cmd: SHELL } },
    ],
    reported: /What the page 1 of the demo says of owls/,
    makes: MADE,
  },
  {
    name: 'Codex runs a command, over a WebSocket',
    websocket: true,
    start: codex('fake-model', ',supports_websockets=true'),
    calls: [{ name: 'exec_command', arguments: { cmd: SHELL } }],
    reported: /SHELL_RAN/,
    makes: MADE,
  },
  {
    name: 'opencode runs a command',
    start: opencode('m'),
    calls: [{ name: 'bash', arguments: { command: SHELL, description: 'Makes a file.' } }],
    reported: /SHELL_RAN/,
    makes: MADE,
  },
  {
    name: 'opencode writes a file, and edits it',
    start: opencode('m'),
    calls: [
      { name: 'write', arguments: { filePath: 'made.txt', content: 'Made by nobody.\n' } },
      { name: 'edit', arguments: { filePath: 'made.txt', oldString: 'nobody', newString: 'the agent' } },
    ],
    reported: /Edit applied/,
    makes: MADE,
  },
  {
    name: 'opencode applies a patch',
    start: opencode('gpt-5.5'),
    calls: [{ name: 'apply_patch', arguments: { patchText: PATCH } }],
    reported: /made\.txt/,
    makes: MADE,
  },
  ...overEachUpstream(CLAUDE_SCENES),
  {
    name: "Claude Code has the company's tool run beside its own, and does not see it",
    upstream: 'chatCompletionsUpstream, with tools',
    start: claude(),
    calls: [
      [
        { name: 'company_weather', arguments: {} },
        { name: 'Bash', arguments: { command: SHELL, description: 'Makes a file.' } },
      ],
    ],
    reported: /SHELL_RAN/,
    brings: 'Sunny in Bonn.',
    hides: 'company_weather',
    makes: MADE,
  },
  {
    name: 'pi runs a command',
    start: pi,
    calls: [{ name: 'bash', arguments: { command: SHELL } }],
    reported: /SHELL_RAN/,
    makes: MADE,
  },
  {
    name: 'Codex with the settings of docs/clients.md',
    start: asDocumented(documented.codex),
    calls: [{ name: 'exec_command', arguments: { cmd: SHELL } }],
    reported: /SHELL_RAN/,
    makes: MADE,
    quiet: true,
  },
  {
    name: 'Codex with the line that the program prints (docs/npx.md)',
    start: asDocumented(documented.printedCodex),
    program: true,
    quiet: true,
    calls: [{ name: 'exec_command', arguments: { cmd: SHELL } }],
    reported: /SHELL_RAN/,
    makes: MADE,
  },
  {
    name: 'Claude Code with the command of docs/clients.md',
    start: asDocumented(documented.claude, 'clients.md', '### Claude Code'),
    calls: [{ name: 'Bash', arguments: { command: SHELL, description: 'Makes a file.' } }],
    reported: /SHELL_RAN/,
    makes: MADE,
    quiet: true,
    shows: '"contextWindow":32768',
  },
  {
    name: 'Claude Code with the command of docs/messages.md',
    start: asDocumented(documented.claude, 'messages.md', '# The Messages API'),
    calls: [{ name: 'Bash', arguments: { command: SHELL, description: 'Makes a file.' } }],
    reported: /SHELL_RAN/,
    makes: MADE,
  },
  {
    name: 'opencode with the settings of docs/clients.md',
    start: asDocumented(documented.opencode),
    calls: [{ name: 'bash', arguments: { command: SHELL, description: 'Makes a file.' } }],
    reported: /SHELL_RAN/,
    makes: MADE,
  },
  {
    name: 'pi with the settings of docs/clients.md',
    start: asDocumented(documented.pi),
    calls: [{ name: 'bash', arguments: { command: SHELL } }],
    reported: /SHELL_RAN/,
    makes: MADE,
  },
  ...[
    ['Codex', documented.codexWithMcp(codex('fake-model'), COMPANY_KEY), 'mcp__company__company_weather'],
    // It keeps them out of its first request.
    [
      'Claude Code',
      documented.claudeWithMcp(claude(), COMPANY_KEY),
      'mcp__company__company_weather',
      [{ name: 'ToolSearch', arguments: { query: 'select:mcp__company__company_weather', max_results: 1 } }],
    ],
    ['opencode', documented.opencodeWithMcp(opencode('m'), COMPANY_KEY), 'company_company_weather'],
  ].map(([title, start, tool, before = []]) => ({
    name: `${title} lists and calls the tools of mcpRouter, with the settings of docs/mcp.md`,
    companyKey: COMPANY_KEY,
    start,
    calls: [...before, { name: tool, arguments: { city: 'Bonn' } }],
    reported: /Sunny in Bonn\./,
  })),
  {
    name: 'Codex by `express-open-responses run`',
    start: asDocumented(documented.launched, 'codex'),
    program: true,
    quiet: true,
    silent: true,
    calls: [{ name: 'exec_command', arguments: { cmd: SHELL } }],
    reported: /SHELL_RAN/,
    makes: MADE,
  },
  {
    name: 'Claude Code by `express-open-responses run`',
    start: asDocumented(documented.launched, 'claude'),
    program: true,
    quiet: true,
    silent: true,
    calls: [{ name: 'Bash', arguments: { command: SHELL, description: 'Makes a file.' } }],
    reported: /SHELL_RAN/,
    makes: MADE,
  },
  {
    name: 'opencode by `express-open-responses run`',
    start: asDocumented(documented.launched, 'opencode'),
    program: true,
    quiet: true,
    silent: true,
    calls: [{ name: 'bash', arguments: { command: SHELL, description: 'Makes a file.' } }],
    reported: /SHELL_RAN/,
    makes: MADE,
  },
  {
    name: 'pi by `express-open-responses run`',
    start: asDocumented(documented.launched, 'pi'),
    program: true,
    quiet: true,
    silent: true,
    calls: [{ name: 'bash', arguments: { command: SHELL } }],
    reported: /SHELL_RAN/,
    makes: MADE,
  },
];
