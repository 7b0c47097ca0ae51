/** Reads the example's settings from the environment; a bad value is an error that names it. */

/** The example's port, servers, keys and files. */
export interface Settings {
  readonly port: number;
  /** Up to and including `/v1`; undefined for the embedded demo model. */
  readonly upstreamBaseURL: string | undefined;
  readonly upstreamApiKey: string;
  /** Milliseconds of silence before a heartbeat; undefined for the default. */
  readonly heartbeatMs: number | undefined;
  /** The accepted bearer tokens; none accepts everyone. */
  readonly apiKeys: readonly string[];
  readonly log: boolean;
  /** `memory`, `sqlite:FILE`, or the URL of a Redis or PostgreSQL server. */
  readonly store: string;
  /** A file of MCP servers as every MCP client has it; `off` for none, undefined for the demo's own. */
  readonly mcpConfig: string | undefined;
  /** The address of a SearXNG instance; undefined for none, or the demo's own search. */
  readonly searxngURL: string | undefined;
  /** The embedding model of vector stores; undefined for none. */
  readonly embeddings: Embeddings | undefined;
  /** Whether models may run Python and commands, in containers. */
  readonly runsCode: boolean;
}

/** A model behind OpenAI's `/embeddings`. */
export interface Embeddings {
  readonly baseURL: string;
  readonly model: string;
  readonly apiKey: string | undefined;
}

/** The environment, as `process.env` has it. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The settings; throws if a variable has an invalid value. An empty variable counts as unset. */
export function readSettings(env: Environment): Settings {
  return {
    port: wholeNumber(env, 'PORT', 0) ?? 3000,
    upstreamBaseURL: env.UPSTREAM_BASE_URL || undefined,
    upstreamApiKey: env.UPSTREAM_API_KEY ?? '',
    heartbeatMs: wholeNumber(env, 'HEARTBEAT_MS', 1),
    apiKeys: (env.API_KEYS ?? '')
      .split(',')
      .map((key) => key.trim())
      .filter(Boolean),
    log: oneOf(env, 'LOG', ['on', 'off']) !== 'off',
    store: storeFrom(env),
    mcpConfig: env.MCP_CONFIG || undefined,
    searxngURL: env.SEARXNG_URL || undefined,
    embeddings: embeddingsFrom(env),
    runsCode: oneOf(env, 'CODE', ['on', 'off']) === 'on',
  };
}

function embeddingsFrom({ EMBEDDINGS_URL: baseURL, EMBEDDINGS_MODEL: model, EMBEDDINGS_API_KEY: apiKey }: Environment) {
  if (baseURL && model) return { baseURL, model, apiKey: apiKey || undefined };
  if (baseURL || model) throw new Error('EMBEDDINGS_URL and EMBEDDINGS_MODEL must be set together');
  return undefined;
}

const STORES = /^(memory$|sqlite:.|rediss?:\/\/.|postgres(ql)?:\/\/.)/;

function storeFrom({ STORE: store }: Environment): string {
  if (!store) return 'memory';
  if (STORES.test(store)) return store;
  // Only the part before the colon: a URL may contain a password.
  const scheme = store.split(':')[0];
  throw new Error(`STORE must be 'memory', 'sqlite:FILE', 'redis://…' or 'postgres://…', got '${scheme}'`);
}

function wholeNumber(env: Environment, name: string, least: number): number | undefined {
  const text = env[name];
  if (!text) return undefined;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new Error(`${name} must be a whole number from ${least}, got '${text}'`);
}

function oneOf(env: Environment, name: string, known: readonly string[]): string | undefined {
  const text = env[name];
  if (!text || known.includes(text)) return text;
  throw new Error(`${name} must be ${known.map((word) => `'${word}'`).join(' or ')}, got '${text}'`);
}
