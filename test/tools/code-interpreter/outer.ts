/** The sandbox of the system alone: any script in the place of the child's own, with all that Node can do. */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NODE } from '../../../src/tools/code-interpreter/sandbox/bubblewrap.ts';
import { type IsolationName, resolveIsolation } from '../../../src/tools/code-interpreter/sandbox/isolation.ts';
import { type Launch, pyodideFolder, pyodideLaunch } from '../../../src/tools/code-interpreter/sandbox/launch.ts';
import { PYODIDE_LIMITS } from '../../../src/tools/code-interpreter/sandbox/pyodide-settings.ts';
import { type StartedChild, startChild } from '../../../src/tools/code-interpreter/sandbox/start-child.ts';
import { describeWith, findProgram } from '../../support/services.ts';

/** Where bubblewrap is, or nothing. */
export const BWRAP = process.platform === 'linux' ? findProgram('bwrap') : undefined;

/** `describe` where bubblewrap is there; CI must have it. */
export const describeSandboxed = describeWith(BWRAP, 'bubblewrap');

/** The strongest that pyodideRuntime can have here, for tests of what it does in any. */
export const isolation: IsolationName = BWRAP ? 'bubblewrap' : 'process-only';

/** A file of the test's, bound into the sandbox. */
export type Extra = readonly [file: string, place: string];

/** The launch of a real container, whose command is another and whose sandbox holds these files as well. */
export async function outerLaunch(command: readonly string[], extra: readonly Extra[] = []): Promise<Launch> {
  const launch = await pyodideLaunch(pyodideFolder(), PYODIDE_LIMITS, resolveIsolation('bubblewrap'));
  const binds = extra.flatMap(([file, place]) => ['--ro-bind', file, place]);
  const words = launch.args.slice(0, launch.args.lastIndexOf(NODE));
  const root = words.indexOf('--remount-ro');
  return { ...launch, args: [...words.slice(0, root), ...binds, ...words.slice(root), ...command] };
}

/** A folder with one file, for what is bound. */
export function scriptFile(text: string | Uint8Array, mode = 0o644): { readonly file: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'outer-'));
  const file = join(folder, 'script.mjs');
  writeFileSync(file, text, { mode });
  return { file, remove: () => rmSync(folder, { recursive: true }) };
}

/** What a process of the sandbox printed, and how it ended. */
export interface Outcome {
  readonly stdout: Buffer;
  readonly stderr: string;
  readonly code: number | null;
}

/** Runs the script in the sandbox, as any Node program. */
export async function runScript(text: string, ...args: readonly string[]): Promise<Outcome> {
  const { file, remove } = scriptFile(text);
  try {
    return await outcomeOf(startChild(await outerLaunch([NODE, '/script.mjs', ...args], [[file, '/script.mjs']])));
  } finally {
    remove();
  }
}

/** Until it has ended; after a while it is killed. */
export async function outcomeOf({ child }: StartedChild, withinMs = 60_000): Promise<Outcome> {
  const parts: Buffer[] = [];
  let stderr = '';
  child.stdout.on('data', (chunk) => parts.push(chunk));
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  child.stdin.on('error', () => {});
  const timer = setTimeout(() => child.kill('SIGKILL'), withinMs);
  const [code] = await once(child, 'close');
  clearTimeout(timer);
  return { stdout: Buffer.concat(parts), stderr, code };
}
