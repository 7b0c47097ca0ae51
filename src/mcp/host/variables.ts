/** `${VAR}` in the strings of an MCP server's config, as MCP clients read it. */

const VARIABLE = /\$\{(?:env:)?([A-Za-z_]\w*)(?::-([^}]*))?\}/g;

/** A config with its variables replaced, and the values that were put in, which are likely to be secret. */
export interface Expanded {
  readonly config: unknown;
  readonly inserted: readonly string[];
}

/**
 * Replaces `${VAR}`, `${env:VAR}` and `${VAR:-default}` in every string of a JSON value; the default also stands in for
 * an empty variable, as in a shell. Throws a `TypeError` that names a variable which is not set and has no default.
 */
export function expandVariables(owner: string, json: unknown, env: NodeJS.ProcessEnv = process.env): Expanded {
  const inserted: string[] = [];

  function replacement(_match: string, name: string, fallback: string | undefined): string {
    const value = fallback === undefined ? env[name] : env[name] || fallback;
    if (value === undefined) throw new TypeError(`${owner} needs the environment variable ${name}, which is not set`);
    if (value !== fallback) inserted.push(value);
    return value;
  }

  const config: unknown = JSON.parse(JSON.stringify(json) ?? 'null', (_key, value: unknown) =>
    typeof value === 'string' ? value.replace(VARIABLE, replacement) : value,
  );
  return { config, inserted };
}
