/** Commands in a container whose processes Python can start. */
import type { CodeContainer, CommandRun, ContainerCommand } from '../../../ports/hosted-tools/code-runtime.ts';
import { ContainerLostError } from '../../../ports/hosted-tools/code-runtime.ts';

/** What Python has to end a command and to say so. */
const GRACE_MS = 2000;

/** The container with `exec`: its Python starts each command, in a group of its own that ends with it. */
export function withCommands(container: CodeContainer, runMs: number): CodeContainer {
  return {
    run: (code, signal) => container.run(code, signal),
    put: (file) => container.put(file),
    close: () => container.close(),
    get alive() {
      return container.alive;
    },
    ...(container.remove ? { remove: (name: string) => Promise.resolve(container.remove?.(name)) } : {}),
    async exec(command: ContainerCommand, signal: AbortSignal): Promise<CommandRun> {
      const most = Math.max(runMs - GRACE_MS, 1);
      const timeoutMs = Math.min(command.timeoutMs ?? most, most);
      const run = await container.run(pythonCommand({ ...command, timeoutMs }), signal);
      const { stdout, stderr, result, error, files, removed } = run;
      // Code of an earlier call may have changed what Python itself is.
      if (error !== undefined || !/^-?\d{1,6}$/.test(result ?? ''))
        throw new ContainerLostError('crash', `The command could not be run: ${(error ?? result ?? '').slice(-500)}`);
      const { outputBytes = Number.POSITIVE_INFINITY } = command;
      const code = Number(result);
      const exitCode = code === LATE ? undefined : code < 0 ? 128 - code : code;
      return { stdout: cut(stdout, outputBytes), stderr: cut(stderr, outputBytes), exitCode, files, removed };
    },
  };
}

/** No exit code of a process, and no signal. */
const LATE = -9999;

/** Its value is the exit code, below 0 for a signal; what the command prints is what this code prints. */
function pythonCommand({ command, timeoutMs = 0 }: ContainerCommand): string {
  const argv = typeof command === 'string' ? ['/bin/sh', '-c', command] : command;
  // A JSON string of ASCII characters is also a string literal of Python.
  const text = JSON.stringify(JSON.stringify(argv)).replaceAll(
    /[^ -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return `import json as _json, os as _os, signal as _signal, subprocess as _subprocess
def _run_command(argv, seconds):
    process = _subprocess.Popen(argv, stdin=_subprocess.DEVNULL, start_new_session=True)
    try:
        return process.wait(seconds)
    except _subprocess.TimeoutExpired:
        return ${LATE}
    finally:
        try:
            _os.killpg(process.pid, _signal.SIGKILL)
        except OSError:
            pass
        process.wait()
_run_command(_json.loads(${text}), ${timeoutMs / 1000})`;
}

function cut(text: string, bytes: number): string {
  return Buffer.byteLength(text) <= bytes ? text : Buffer.from(text).subarray(0, bytes).toString();
}
