/** Commands of the documentation that a shell runs as they stand, but for addresses and ids. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type FakeUpstream, startFakeUpstream, textStream } from 'express-open-responses/testing';
import { freePort } from '../support/services.ts';
import { type Recipe, startRecipe } from './recipe.ts';
import { codeBlocks, itBuilt, itWith, run } from './support.ts';

const START_MS = 30_000;
const HELLO = { body: textStream('Hello!') };

const itCurl = await itWith('curl');

let fake: FakeUpstream;
let folder: string;
let recipe: Recipe | undefined;

beforeEach(async () => {
  fake = await startFakeUpstream({ reply: () => HELLO });
  folder = mkdtempSync(join(tmpdir(), 'commands-'));
});
afterEach(async () => {
  await recipe?.close();
  await fake.close();
  rmSync(folder, { recursive: true });
});

/** Waits until something answers there. */
async function answers(url: string): Promise<boolean> {
  for (const end = Date.now() + START_MS; Date.now() < end; await pause(50)) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer) return answer.ok;
  }
  return false;
}

describe('the commands of the recipes', () => {
  itBuilt('build/examples/recipes/logging.js')('[X-01] start a recipe from a checkout', async () => {
    const [block = ''] = codeBlocks('docs/recipes/README.md', 'bash');
    const [install, start = ''] = block.trim().split('\n');
    const port = String(await freePort());
    const command = start.replace('http://localhost:8000/v1', fake.baseURL);
    const child = spawn('sh', ['-c', `exec env ${command}`], {
      env: { ...process.env, PORT: port, LOG_FILE: '/dev/null' },
    });
    const closed = once(child, 'close');
    const isUp = await answers(`http://127.0.0.1:${port}/v1/models`);
    child.kill();
    await closed;
    expect([install, isUp]).toEqual(['npm ci && npm run built', true]);
  });

  itCurl('[X-01] [X-14] upload a file, and ask about it', async () => {
    recipe = await startRecipe('files', { UPSTREAM_BASE_URL: fake.baseURL, FILES_FOLDER: join(folder, 'files') });
    const prices = join(folder, 'prices.csv');
    writeFileSync(prices, 'tea,2\ncoffee,3');
    const [block = ''] = codeBlocks('docs/recipes/files.md', 'sh');
    const [upload = '', ...question] = block.replaceAll('http://localhost:3000', recipe.url).split('\n');
    const file = JSON.parse(await run('sh', ['-c', `${upload.replace('@prices.csv', `@${prices}`)} --silent`]));
    const asking = question.join('\n').trim().replace('file-…', file.id);
    const answer = JSON.parse(await run('sh', ['-c', `${asking} --silent`]));
    expect([file.filename, answer.output[0].content[0].text, JSON.stringify(fake.requests.at(-1)?.body)]).toEqual([
      'prices.csv',
      'Hello!',
      expect.stringContaining('coffee,3'),
    ]);
  });
});
