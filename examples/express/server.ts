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
  // Exits: parts that have started, such as a connection to the store, would keep the process running.
  process.exit(1);
}
