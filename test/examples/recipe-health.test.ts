/** The log and the health route of docs/logging.md, as they stand there. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RouterStatus } from 'express-open-responses';
import { startFakeUpstream } from 'express-open-responses/testing';
import { post, startRecipe } from './recipe.ts';

const root = join(import.meta.dirname, '../..');

it('writes its lines to pino, and answers the health route', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'recipe-health-'));
  const fake = await startFakeUpstream();
  fake.reply({ status: 500, body: '{"error":{"message":"secret"}}' });
  const file = join(folder, 'log');
  const recipe = await startRecipe('health', { LOG_FILE: file, UPSTREAM_BASE_URL: fake.baseURL });
  await (await post(`${recipe.url}/v1/responses`, { model: 'm', input: 'Hi.' })).text();
  const health = await fetch(`${recipe.url}/health`);
  // The cast: the status of a router.
  const { status, upstream } = (await health.json()) as RouterStatus;
  await recipe.close();
  await fake.close();
  const log = readFileSync(file, 'utf8');
  rmSync(folder, { recursive: true });
  const lines = log
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect([health.status, status, upstream.lastError?.code]).toEqual([200, 'degraded', 'upstream_error']);
  expect(lines.map(({ level, msg, code }) => [level, msg, code])).toEqual([
    [30, 'express-open-responses serves its first request.', undefined],
    [50, expect.stringContaining('See express-open-responses/docs/errors.md#upstream_error.'), 'upstream_error'],
  ]);
  expect(log).not.toContain('secret');
});

it('is quoted by docs/logging.md', () => {
  const page = readFileSync(join(root, 'docs/logging.md'), 'utf8');
  expect(page).toContain(`\`\`\`ts\n${readFileSync(join(root, 'examples/recipes/health.ts'), 'utf8')}\`\`\``);
});
