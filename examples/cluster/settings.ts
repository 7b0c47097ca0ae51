/** Reads the example's settings from the environment; a bad value is an error that names it. */

/** The database, the model server and the port of the example. */
export interface Settings {
  readonly port: number;
  /** The URL of a PostgreSQL or a Redis server. */
  readonly databaseURL: string;
  /** Up to and including `/v1`; undefined for the demo model. */
  readonly upstreamBaseURL: string | undefined;
  readonly upstreamApiKey: string;
  /** The same in all processes; undefined for a new one each time the example starts. */
  readonly secret: string | undefined;
  /** How long a response belongs to a worker that gives no sign of life, in milliseconds. */
  readonly lockMs: number;
}

/** The environment, as `process.env` has it. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The settings; throws if one is missing or invalid. An empty variable counts as unset. */
export function readSettings(env: Environment): Settings {
  const databaseURL = env.DATABASE_URL || env.REDIS_URL;
  if (!databaseURL)
    throw new Error('Set DATABASE_URL (postgres://…) or REDIS_URL (redis://…): the processes share it.');
  return {
    port: wholeNumber(env, 'PORT', 0) ?? 3000,
    databaseURL,
    upstreamBaseURL: env.UPSTREAM_BASE_URL || undefined,
    upstreamApiKey: env.UPSTREAM_API_KEY ?? '',
    secret: env.SECRET || undefined,
    lockMs: wholeNumber(env, 'LOCK_MS', 1000) ?? 10_000,
  };
}

function wholeNumber(env: Environment, name: string, least: number): number | undefined {
  const text = env[name];
  if (!text) return undefined;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new Error(`${name} must be a whole number from ${least}, got '${text}'`);
}
