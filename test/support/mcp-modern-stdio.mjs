/** The modern test tools over stdio. `--both` serves the older era, too; `--strict` ends at the first message it does not know; `--late` begins after a while. */
import { EventEmitter } from 'node:events';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { modernServer } from './mcp-modern-tools.mjs';

const has = (flag) => process.argv.includes(flag);

if (has('--late')) await new Promise((resolve) => setTimeout(resolve, 2_000));
const events = new EventEmitter().on('crash', () => process.exit(3));
serveStdio(() => modernServer(events), { legacy: has('--both') ? 'serve' : 'reject' });
