/** `POST /responses/input_tokens` with the tokenizer that `npm run test:slow` installs. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { startRequestApp } from '../support/request-app.ts';
import { itWhere } from '../support/skipping.ts';

const peers = join(import.meta.dirname, '../peers/node_modules');
const built = join(import.meta.dirname, '../../dist/cjs/engine/tokens/tokenizer-worker.js');
const isInstalled = existsSync(join(peers, 'js-tiktoken')) && process.env.NODE_PATH === peers && existsSync(built);
const itTokenizes = itWhere(isInstalled, 'needs a build, and js-tiktoken, which `npm run test:slow` installs');

describe('POST /responses/input_tokens', () => {
  itTokenizes('[S-14] uses the tokenizer that is installed', async () => {
    const app = await startRequestApp();
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', input: 'tiktoken is great!' }),
    };
    const response = await fetch(`${app.url}/responses/input_tokens`, init);
    expect(await response.json()).toMatchObject({ input_tokens: 6 + 4 + 3 });
    await app.close();
  });
});
