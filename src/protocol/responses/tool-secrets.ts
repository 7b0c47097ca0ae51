/** Keeps what a client says to its own servers out of everything that is kept or echoed. */

type Fields = Readonly<Record<string, unknown>>;

/** The tool without what may hold a secret; a function holds none. */
export function withoutSecrets(tool: Fields): Fields {
  if (tool.type === 'function') return tool;
  const { headers, authorization, ...rest } = tool;
  return rest;
}
