/** Starts a coding agent over a server of its own, and takes both down. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { constants, homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { findProgram } from '../../ports/host/find-program.ts';
import { AGENTS, type Agent } from './agents.ts';
import type { RunArguments } from './arguments.ts';
import { Failure, printableMessage, usageFailure } from './failure.ts';
import { HeldLines } from './held-lines.ts';
import { lineFilter } from './line-filter.ts';
import { findModelServer } from './open-model.ts';
import { serve } from './serve.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** The exit status of the agent; 128 and its number for a signal, as shells say it. Throws a `Failure` where nothing was started. */
export async function runAgent(args: RunArguments, env: Env): Promise<number> {
  const agent = AGENTS.get(args.agent);
  if (!agent)
    throw usageFailure(
      `there is no agent '${printableMessage(args.agent)}': known are ${[...AGENTS.keys()].join(', ')}`,
    );
  const suffix = process.platform === 'win32' ? '.exe' : '';
  const program = findProgram(`${agent.program}${suffix}`, env.PATH ?? '');
  if (program === undefined)
    throw new Failure(
      `${agent.title} is not installed, as there is no '${agent.program}' on PATH: ${agent.install}`,
      1,
    );
  const upstream = args.upstream ?? (await findModelServer());
  const held = new HeldLines();
  const server = await serve({ ...args, upstream }, held.add, held.logger);
  try {
    // Model servers list the models that embed beside the others.
    const listed = args.model === undefined ? server.models.find(({ id }) => !/embed|rerank/i.test(id)) : undefined;
    const model = args.model ?? listed?.id;
    if (model === undefined)
      throw new Failure(`${printableMessage(upstream)} lists no model: name one with --model`, 1);
    const { facts = {} } = server.models.find(({ id }) => id === model) ?? {};
    if (args.inspect) console.error(`The inspector is at ${server.origin}/inspect/`);
    // The terminal is the agent's for as long as it runs.
    held.hold();
    return await withFolder(agent, env, (folder) => {
      const settings = agent.settings({ folder, origin: server.origin, model, facts });
      for (const [name, text] of Object.entries(settings.files))
        writeFileSync(join(folder, name), text, { mode: 0o600 });
      return outcome(agent, program, [...settings.args, ...args.rest], { ...env, ...settings.env });
    });
  } finally {
    await server.close();
    held.print();
  }
}

/**
 * A new folder for the time of the call: in the user's cache, since Codex warns of a home in the folder for temporary files, and there only
 * if there is no other.
 */
async function withFolder<Result>(
  { program }: Agent,
  { XDG_CACHE_HOME }: Env,
  use: (folder: string) => Promise<Result>,
): Promise<Result> {
  const cache = join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'express-open-responses');
  let folder: string;
  try {
    mkdirSync(cache, { recursive: true });
    folder = mkdtempSync(join(cache, `${program}-`));
  } catch {
    folder = mkdtempSync(join(tmpdir(), `${program}-`));
  }
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  // Also where the process ends otherwise.
  process.once('exit', remove);
  try {
    return await use(folder);
  } finally {
    process.removeListener('exit', remove);
    remove();
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs the agent in this terminal. Signals are passed on to it, and end this process only by its end. */
async function outcome(agent: Agent, program: string, args: readonly string[], env: Env): Promise<number> {
  const hostLine = agent.hostLine?.({ args, isTerminal: process.stdout.isTTY });
  const errors = hostLine === undefined ? 'inherit' : 'pipe';
  const child = spawn(program, args, { stdio: ['inherit', 'inherit', errors], env });
  const passed =
    child.stderr && pipeline(child.stderr, lineFilter(hostLine ?? ''), process.stderr, { end: false }).catch(() => {});
  const pass = (signal: NodeJS.Signals) => {
    // A terminal sends it to the agent, too, and some agents end at the second one.
    if (signal === 'SIGINT' && process.stdin.isTTY) return;
    child.kill(signal);
  };
  for (const signal of SIGNALS) process.on(signal, pass);
  try {
    const [status, signal] = await once(child, 'close');
    await passed;
    // The cast: Node's own names of signals.
    return status ?? 128 + (constants.signals[signal as NodeJS.Signals] ?? 0);
  } catch (error) {
    throw new Failure(`${agent.title} could not be started: ${printableMessage(error)}`, 1, error);
  } finally {
    for (const signal of SIGNALS) process.removeListener(signal, pass);
  }
}
