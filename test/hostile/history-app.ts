/** An app over an SQLite file, alone in its process, whose memory is limited; run by `small-app.ts`. */
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { sqliteDrivers } from '../stores/sqlite-drivers.ts';
import { startApp } from '../support/app.ts';

const open = sqliteDrivers.find((driver) => driver.open)?.open;
if (!open) throw new Error('There is no driver.');
const store = sqliteStore({ database: open(process.env.DATABASE ?? '') });
const app = await startApp({ upstream: { baseURL: process.env.UPSTREAM_URL ?? '' }, options: { store } });

process.on('message', () => process.send?.(process.resourceUsage().maxRSS * 1024));
process.send?.(app.url);
