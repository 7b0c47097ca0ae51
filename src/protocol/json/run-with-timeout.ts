/** Stops work that may never end, such as a regular expression from outside, which nothing else in its thread can. */
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { type Context, createContext, Script } from 'node:vm';

/** File descriptors that must be free. Node opens up to five for a timeout, and aborts the process if it gets none. */
const FREE_DESCRIPTORS = 16;

/** Made at first use, for all runs. */
let sandbox: { readonly script: Script; readonly context: Context } | undefined;

/**
 * Runs `run`, which must be synchronous, and returns its value. Undefined if it was stopped after that many milliseconds,
 * or was not begun because the process has no file descriptors left. Throws what `run` throws. It blocks the event loop meanwhile.
 */
export function runWithTimeout<Value>(run: () => Value, timeoutMs: number): { readonly value: Value } | undefined {
  const opened: number[] = [];
  try {
    while (opened.length < FREE_DESCRIPTORS) opened.push(openSync(devNull, 'r'));
  } catch (error) {
    // Any other error, such as of a permission model, is no lack of them.
    if (['EMFILE', 'ENFILE'].includes(`${(error as NodeJS.ErrnoException).code}`)) return undefined;
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
  sandbox ??= { script: new Script('run()'), context: createContext({}) };
  const { script, context } = sandbox;
  context.run = run;
  try {
    // V8 stops whatever the script calls as well, within a regular expression too.
    return { value: script.runInContext(context, { timeout: Math.ceil(timeoutMs) }) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException | undefined)?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return undefined;
    throw error;
  } finally {
    // The value may be large.
    context.run = undefined;
  }
}
