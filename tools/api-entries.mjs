/** The entries of the package, which entries.json declares, and the source of each. */
import { readFileSync } from 'node:fs';

const read = (path) => JSON.parse(readFileSync(new URL(`../${path}`, import.meta.url), 'utf8'));

/** From the name to import, such as `express-open-responses/mcp`, to its source, such as `src/tools/mcp/index.ts`. */
export function sources() {
  const { name } = read('package.json');
  return new Map(Object.entries(read('entries.json')).map(([path, source]) => [name + path.slice(1), source]));
}
