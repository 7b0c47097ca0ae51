/**
 * qwen-code, a coding agent in a terminal.
 *
 * client: `@qwen-code/qwen-code`
 * packages: @qwen-code/qwen-code
 * node: 22
 * settings: `OPENAI_BASE_URL`, `OPENAI_API_KEY` and `OPENAI_MODEL`, and `qwen --auth-type openai`
 */
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { HELLO, shows, WEATHER } from './support/scene.mjs';

const installed = join(import.meta.dirname, 'node_modules/@qwen-code/qwen-code/package.json');
const program = join(dirname(installed), createRequire(import.meta.url)(installed).bin.qwen);
const env = { ...process.env, OPENAI_MODEL: 'my-model', QWEN_TELEMETRY_ENABLED: 'false' };

function asked(prompt) {
  const args = [program, '--auth-type', 'openai', '--approval-mode', 'yolo', '-p', prompt];
  return execFileSync(process.execPath, args, { env, encoding: 'utf8', input: '' }).trim();
}

await shows('chat', 'text', () => asked(HELLO));
await shows('chat', 'tool', () => asked(WEATHER));
