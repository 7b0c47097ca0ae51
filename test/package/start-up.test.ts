/** What the main entry loads, in a fresh process. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { itBuilt } from '../examples/support.ts';

const root = join(import.meta.dirname, '../..');

/** Says after each step which of the large packages have been loaded. */
const SCRIPT = `
  const isLoaded = (name) => Object.keys(require.cache).some((file) => file.split(/[\\\\/]/).includes(name));
  const loaded = () => ['undici', 'zod'].filter(isLoaded);
  const { chatCompletionsUpstream, memoryStore, responsesRouter } = require('express-open-responses');
  const seen = [loaded()];
  const own = { name: 'own', async *stream() {} };
  responsesRouter({ upstream: own, store: memoryStore() });
  seen.push(loaded());
  chatCompletionsUpstream({ baseURL: 'http://127.0.0.1:1/v1' });
  seen.push(loaded());
  console.log(JSON.stringify(seen));
`;

describe('a fresh process', () => {
  itBuilt('dist/cjs/index.js')('[Q-04] loads zod for a router and undici for an upstream, not at import', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', SCRIPT], { cwd: root });
    expect(JSON.parse(stdout)).toEqual([[], ['zod'], ['undici', 'zod']]);
  });
});
