/** Reads the command line. */
import { parseArgs } from 'node:util';
import { AGENTS } from './agents.ts';
import { printableMessage, usageFailure } from './failure.ts';

/** What `--help` prints. */
export const HELP = `Serves OpenAI's Responses API, Chat Completions and Anthropic's Messages API
in front of any model server that speaks Chat Completions.

Usage: express-open-responses [options]
       express-open-responses run AGENT [options] [-- the agent's own arguments]
       (AGENT is codex, claude, opencode or pi; without --host and --port)

  --upstream URL    model server, up to and including /v1 (default: a scripted
                    demo model; of run: the one on its usual port)
  --model NAME      of run: the agent's model (default: the first of the server)
  --key-env NAME    environment variable with the model server's API key
  --host ADDRESS    address to listen on (default: 127.0.0.1, this machine)
  --port NUMBER     port to listen on, 0 for a free one (default: 3000)
  --store PLACE     where responses are kept: an SQLite file, redis://...
                    or postgres://... (default: memory)
  --mcp PLACE       MCP server whose tools the server runs: a URL, a command, or
                    a JSON file with mcpServers; may be repeated
  --inspect         show the last requests at /inspect, only to this machine
  --version, -v     print the version
  --help, -h        print this

Examples:
  express-open-responses
  express-open-responses run codex --mcp https://mcp.example.com/mcp
  express-open-responses --upstream https://api.openai.com/v1 \\
    --key-env OPENAI_API_KEY --store responses.db --mcp mcp.json
`;

/** The options of the command line, checked as far as they can be without opening anything. */
export interface Arguments {
  /** Undefined for the demo model. */
  readonly upstream: string | undefined;
  /** The key itself; undefined for none. */
  readonly apiKey: string | undefined;
  readonly host: string;
  readonly port: number;
  /** Undefined for memory. */
  readonly store: string | undefined;
  /** URLs, commands and files. */
  readonly mcp: readonly string[];
  readonly inspect: boolean;
}

/** The options of `run`: those of the server, on a free port of this machine, and what is for the agent. */
export interface RunArguments extends Arguments {
  /** As it was written, such as `codex`. */
  readonly agent: string;
  /** Undefined for the first that the server lists. */
  readonly model: string | undefined;
  /** The agent's own. */
  readonly rest: readonly string[];
}

/** What to do: print and end, serve, or run an agent. */
type Command = { readonly print: 'help' | 'version' } | { readonly serve: Arguments } | { readonly run: RunArguments };

const SHARED_OPTIONS = {
  upstream: { type: 'string' },
  'key-env': { type: 'string' },
  store: { type: 'string' },
  mcp: { type: 'string', multiple: true },
  inspect: { type: 'boolean', default: false },
  version: { type: 'boolean', short: 'v' },
  help: { type: 'boolean', short: 'h' },
} as const;
const SERVE_OPTIONS = {
  ...SHARED_OPTIONS,
  host: { type: 'string', default: '127.0.0.1' },
  port: { type: 'string', default: '3000' },
} as const;
const RUN_OPTIONS = { ...SHARED_OPTIONS, model: { type: 'string' } } as const;

type Env = Readonly<Record<string, string | undefined>>;

/** Throws a `Failure` for an option that is not known or has a wrong value. */
export function readArguments(args: readonly string[], env: Env): Command {
  return args[0] === 'run' ? readRun(args.slice(1), env) : readServe(args, env);
}

function readServe(args: readonly string[], env: Env): Command {
  const { values, positionals } = parsed(() =>
    parseArgs({ args: [...args], options: SERVE_OPTIONS, strict: true, allowPositionals: true }),
  );
  if (values.help) return { print: 'help' };
  if (values.version) return { print: 'version' };
  const [word] = positionals;
  if (word !== undefined)
    throw usageFailure(
      AGENTS.has(word) ? `${word} is started by 'run ${word}'` : `Unexpected argument '${printableMessage(word)}'`,
    );
  const shared = readShared(values, env);
  const port = Number(values.port);
  if (!/^\d{1,5}$/.test(values.port) || port > 65_535)
    throw usageFailure(`--port must be a number from 0 to 65535, got '${printableMessage(values.port)}'`);
  return { serve: { ...shared, host: values.host, port } };
}

function readRun(args: readonly string[], env: Env): Command {
  const end = args.indexOf('--');
  const [own, rest] = end < 0 ? [args, []] : [args.slice(0, end), args.slice(end + 1)];
  const { values, positionals } = parsed(() =>
    parseArgs({ args: [...own], options: RUN_OPTIONS, strict: true, allowPositionals: true }),
  );
  if (values.help) return { print: 'help' };
  if (values.version) return { print: 'version' };
  const [agent, further] = positionals;
  if (agent === undefined) throw usageFailure('run needs an agent, such as codex');
  if (further !== undefined)
    throw usageFailure(
      `'${printableMessage(further)}' is no option of run: write the arguments of ${printableMessage(agent)} behind --`,
    );
  return {
    run: { ...readShared(values, env), host: '127.0.0.1', port: 0, agent, model: values.model, rest },
  };
}

/** What `parseArgs` returns; what it refuses is a `Failure`. */
function parsed<Result>(parse: () => Result): Result {
  try {
    return parse();
  } catch (error) {
    // Only the first sentence: the others explain positional arguments.
    throw usageFailure(printableMessage(error).split('. ', 1)[0]?.replace(/\.$/, '') ?? '', error);
  }
}

/** The values of the options that both commands have. */
interface SharedValues {
  readonly upstream?: string | undefined;
  readonly 'key-env'?: string | undefined;
  readonly store?: string | undefined;
  readonly mcp?: readonly string[] | undefined;
  readonly inspect: boolean;
}

function readShared(values: SharedValues, env: Env): Omit<Arguments, 'host' | 'port'> {
  for (const [name, value] of Object.entries(values)) {
    if (value === '' || (Array.isArray(value) && value.includes(''))) throw usageFailure(`--${name} needs a value`);
  }
  const { upstream, store, mcp = [], inspect } = values;
  return { upstream, apiKey: readApiKey(values['key-env'], upstream, env), store, mcp, inspect };
}

function readApiKey(name: string | undefined, upstream: string | undefined, env: Env) {
  if (name === undefined) return undefined;
  if (upstream === undefined) throw usageFailure('--key-env needs --upstream');
  // A value that is not a variable's name is not quoted: it may be the key itself.
  if (!/^[A-Za-z_]\w{0,63}$/.test(name)) throw usageFailure('--key-env must be the name of a variable');
  const key = env[name];
  if (!key) throw usageFailure(`--key-env: the environment variable ${name} is not set`);
  return key;
}
