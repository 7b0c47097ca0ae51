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
  const { lines, close } = await serve(command.serve, (line) => console.error(`Warning: ${line}`));
  console.log(lines.join('\n'));
  // `once`, so that a second signal ends the process immediately, as Node does by default.
  for (const signal of SIGNALS) process.once(signal, () => close().then(() => process.exit(0), fail));
}

/** Exits, because parts that have started would keep the process running. */
function fail(error: unknown): void {
  console.error(`express-open-responses: ${printableMessage(error)}`);
  process.exit(error instanceof Failure ? error.status : 1);
}

main().catch(fail);
