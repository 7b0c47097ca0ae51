/** Runs the Hono example until it is told to stop. */
import { start } from './start.ts';

const example = await start(process.env);
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => example.close().then(() => process.exit(0)));
}
