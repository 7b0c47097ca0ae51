/** Runs the example: the first process starts the others, which serve, until it is told to stop. */
import cluster from 'node:cluster';
import { startPrimary } from './primary.ts';
import { startWorker } from './worker.ts';

try {
  const { close } = await (cluster.isPrimary ? startPrimary(process.env) : startWorker(process.env));
  let isClosing = false;
  // A terminal sends its signal to all processes, and the first one sends it to the others again.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (isClosing) return;
      isClosing = true;
      void close().then(() => process.exit(0));
    });
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  // Exits: parts that have started, such as a connection to the database, would keep the process running.
  process.exit(1);
}
