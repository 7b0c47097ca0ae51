/** The program `express-open-responses`. */
import { setFlagsFromString } from 'node:v8';
import { VERSION } from '../../protocol/version.ts';
import { HELP, readArguments } from './arguments.ts';
import { Failure, printableMessage } from './failure.ts';
import { runAgent } from './run-agent.ts';
import { serve } from './serve.ts';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

async function main(): Promise<void> {
  const command = readArguments(process.argv.slice(2), process.env);
  if ('print' in command) return void process.stdout.write(command.print === 'help' ? HELP : `${VERSION}\n`);
  // docs/production.md, "Node's settings".
  setFlagsFromString('--no-allocation-site-pretenuring');
  if ('run' in command) return process.exit(await runAgent(command.run, process.env));
  boundYoungGeneration();
  const { lines, close } = await serve(command.serve, (line) => console.error(`Warning: ${line}`));
  console.log(lines.join('\n'));
  // `once`, so that a second signal ends the process immediately, as Node does by default.
  for (const signal of SIGNALS) process.once(signal, () => close().then(() => process.exit(0), fail));
}

/**
 * Starts the same process again with V8's flag for the greatest size of its young generation, which V8 reads only when it
 * starts: docs/production.md, "Node's settings". A host that has chosen a size keeps it; an older Node, Windows, and a parent that
 * talks to the process by a channel, which would be lost, keep V8's own.
 */
function boundYoungGeneration(): void {
  // The cast: Node has it since 22.15, and not on Windows.
  const { execve } = process as {
    readonly execve?: (file: string, args: readonly string[], env: NodeJS.ProcessEnv) => void;
  };
  const isChosen = /semi[-_]space[-_]size/.test([...process.execArgv, process.env.NODE_OPTIONS].join(' '));
  if (!execve || isChosen || process.platform === 'win32' || process.connected) return;
  const args = [process.execPath, YOUNG_GENERATION, ...process.execArgv, ...process.argv.slice(1)];
  execve.call(process, process.execPath, args, process.env);
}

/** Megabytes of each half of the young generation. */
const YOUNG_GENERATION = '--max-semi-space-size=8';

/** Exits, because parts that have started would keep the process running. */
function fail(error: unknown): void {
  console.error(`express-open-responses: ${printableMessage(error)}`);
  process.exit(error instanceof Failure ? error.status : 1);
}

main().catch(fail);
