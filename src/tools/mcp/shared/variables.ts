/** Replaces `${VAR}` in the strings of an MCP server's config, as MCP clients do. */

/** The start of a variable: up to its end, or up to its default. */
const OPENING = /\$\{(?:env:)?([A-Za-z_]\w*)(\}|:-)/g;

/** A config with its variables replaced, and the inserted values, which are likely to be secret. */
interface Expanded {
  readonly config: unknown;
  readonly inserted: readonly string[];
}

/**
 * Replaces `${VAR}`, `${env:VAR}` and `${VAR:-default}` in every string of a JSON value; the default also replaces
 * an empty variable, as in a shell. Throws a `TypeError` that names a variable which is not set and has no default.
 */
export function expandVariables(owner: string, json: unknown, env: NodeJS.ProcessEnv = process.env): Expanded {
  const inserted: string[] = [];

  function replacement(name: string, fallback: string | undefined): string {
    const value = fallback === undefined ? env[name] : env[name] || fallback;
    if (value === undefined) throw new TypeError(`${owner} needs the environment variable ${name}, which is not set`);
    if (value !== fallback) inserted.push(value);
    return value;
  }

  const config: unknown = JSON.parse(JSON.stringify(json) ?? 'null', (_key, value: unknown) =>
    typeof value === 'string' ? expandText(value, replacement) : value,
  );
  return { config, inserted };
}

/** In one pass: a pattern that searches for the end of each default would reread a text without any repeatedly. */
function expandText(text: string, replacement: (name: string, fallback: string | undefined) => string): string {
  const pieces: string[] = [];
  let from = 0;
  for (const { index, 0: opening, 1: name = '', 2: mark } of text.matchAll(OPENING)) {
    // Nested variables in a default are part of it.
    if (index < from) continue;
    const start = index + opening.length;
    const end = mark === '}' ? start - 1 : text.indexOf('}', start);
    if (end < 0) break;
    pieces.push(text.slice(from, index), replacement(name, mark === '}' ? undefined : text.slice(start, end)));
    from = end + 1;
  }
  pieces.push(text.slice(from));
  return pieces.join('');
}
