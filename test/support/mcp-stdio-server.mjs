/** The test tools over stdio. `--silent` never answers, `--quit` fails at once, `--noisy` writes logs where only messages belong, `--stubborn` does not end when it is asked to, `--strict` ends when it is not introduced to first. */
import { EventEmitter } from 'node:events';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { toolServer } from './mcp-tool-set.mjs';

const has = (flag) => process.argv.includes(flag);

if (has('--quit')) {
  console.error(`cannot start with ${process.env.TEST_TOKEN}`);
  process.exit(1);
}
if (has('--stubborn')) {
  setInterval(() => {}, 1_000);
  process.on('SIGTERM', () => {});
}
if (has('--noisy')) console.log('This is no message.');
if (has('--strict'))
  process.stdin.once('data', (first) => {
    if (!String(first).includes('"initialize"')) process.exit(1);
  });
if (has('--silent')) process.stdin.resume();
else await toolServer(new EventEmitter()).connect(new StdioServerTransport());
