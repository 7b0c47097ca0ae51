/** The entries of package.json's `exports`, and the source of each. */
import { readFileSync } from 'node:fs';

const root = new URL('../', import.meta.url);

/** From the name to import, such as `express-open-responses/mcp`, to its source, such as `src/mcp/index.ts`. */
export function sources() {
  const { name, exports } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));
  const entries = Object.entries(exports).filter(([path]) => path !== './package.json');
  return new Map(entries.map(([path, target]) => [name + path.slice(1), sourceOf(target)]));
}

function sourceOf(target) {
  const types = target.types ?? target.import.types;
  return types.replace(/^\.\/dist\/(?:esm\/|cjs\/)?/, 'src/').replace(/\.d\.ts$/, '.ts');
}
