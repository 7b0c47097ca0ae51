/** Writes the pictures of docs/inspector.md: the built example with its demo model, looked at in Debian's Chromium. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { start } from '../../build/examples/express/start.js';

const folder = join(import.meta.dirname, '../../docs/images');
mkdirSync(folder, { recursive: true });
const example = await start({ PORT: '0', LOG: 'off' });

/** Sends a request as a user of this key; resolves with the answer. */
async function ask(user, body) {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${user}` };
  const answer = await fetch(`${example.url}/v1/responses`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ model: 'demo', ...body }),
  });
  return answer.json();
}

const { id } = await ask('ada', { input: 'Use the echo tool, please.' });
await ask('ada', { input: 'And what is six times seven?', previous_response_id: id });
await ask('ada', { input: 'Or rather: what is the capital of France?', previous_response_id: id });
await ask('bob', { input: 5 });
await ask('bob', { input: 'Say hello.' });

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
const pages = { requests: '#/', response: '#/responses/1' };
for (const [name, place] of Object.entries(pages)) {
  const page = await browser.newPage({ viewport: { width: 1200, height: 780 } });
  await page.goto(`${example.url}/inspect/${place}`);
  await page.locator('main table').first().waitFor();
  await page.waitForLoadState('networkidle').catch(() => {});
  await page.screenshot({ path: join(folder, `inspector-${name}.png`) });
  await page.close();
}
await browser.close();
await example.close();
process.exit();
