/** Runs the example until it is told to stop. */
import { start } from './start.ts';
import { usageLines } from './usage.ts';

try {
  const example = await start(process.env);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => example.close().then(() => process.exit(0)));
  }
  for (const line of await usageLines(example)) console.log(line);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  // Not only the status: what did start, such as a connection to the store, would keep the process.
  process.exit(1);
}
