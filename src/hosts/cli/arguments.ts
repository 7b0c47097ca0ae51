/** Reads the command line. */
import { parseArgs } from 'node:util';
import { printableMessage, usageFailure } from './failure.ts';

/** What `--help` prints. */
export const HELP = `Serves OpenAI's Responses API, Chat Completions and Anthropic's Messages API
in front of any model server that speaks Chat Completions.

Usage: express-open-responses [options]

  --upstream URL    model server, up to and including /v1
                    (default: a scripted demo model)
  --key-env NAME    environment variable with the model server's API key
  --host ADDRESS    address to listen on (default: 127.0.0.1, this machine)
  --port NUMBER     port to listen on, 0 for a free one (default: 3000)
  --store PLACE     where responses are kept: an SQLite file, redis://...
                    or postgres://... (default: memory)
  --mcp FILE        JSON file with mcpServers, whose tools the server runs
  --inspect         show the last requests at /inspect, only to this machine
  --version, -v     print the version
  --help, -h        print this

Examples:
  express-open-responses
  express-open-responses --upstream http://localhost:11434/v1 --inspect
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
  readonly mcp: string | undefined;
  readonly inspect: boolean;
}

/** What to do: print and end, or serve. */
type Command = { readonly print: 'help' | 'version' } | { readonly serve: Arguments };

const OPTIONS = {
  upstream: { type: 'string' },
  'key-env': { type: 'string' },
  host: { type: 'string', default: '127.0.0.1' },
  port: { type: 'string', default: '3000' },
  store: { type: 'string' },
  mcp: { type: 'string' },
  inspect: { type: 'boolean', default: false },
  version: { type: 'boolean', short: 'v' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** Throws a `Failure` for an option that is not known or has a wrong value. */
export function readArguments(args: readonly string[], env: Readonly<Record<string, string | undefined>>): Command {
  let values: ReturnType<typeof parseOptions>;
  try {
    values = parseOptions(args);
  } catch (error) {
    // Only the first sentence: the others explain positional arguments.
    throw usageFailure(printableMessage(error).split('. ', 1)[0]?.replace(/\.$/, '') ?? '', error);
  }
  if (values.help) return { print: 'help' };
  if (values.version) return { print: 'version' };
  const { upstream, host, store, mcp, inspect } = values;
  for (const [name, value] of Object.entries(values)) {
    if (value === '') throw usageFailure(`--${name} needs a value`);
  }
  const apiKey = readApiKey(values['key-env'], upstream, env);
  const port = Number(values.port);
  if (!/^\d{1,5}$/.test(values.port) || port > 65_535)
    throw usageFailure(`--port must be a number from 0 to 65535, got '${printableMessage(values.port)}'`);
  return { serve: { upstream, apiKey, host, port, store, mcp, inspect } };
}

function parseOptions(args: readonly string[]) {
  return parseArgs({ args: [...args], options: OPTIONS, strict: true }).values;
}

function readApiKey(
  name: string | undefined,
  upstream: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
) {
  if (name === undefined) return undefined;
  if (upstream === undefined) throw usageFailure('--key-env needs --upstream');
  // A value that is not a variable's name is not quoted: it may be the key itself.
  if (!/^[A-Za-z_]\w{0,63}$/.test(name)) throw usageFailure('--key-env must be the name of a variable');
  const key = env[name];
  if (!key) throw usageFailure(`--key-env: the environment variable ${name} is not set`);
  return key;
}
