/** The command line of a container of Docker or Podman. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { Launch } from '../sandbox/launch.ts';
import type { ContainerSettings } from './container-settings.ts';
import { PYTHON_RUNNER, type RunnerSettings } from './python-runner.ts';

const FOLDER = '/mnt/data';
/** The end of a run that escaped every other limit, such as code that continues after the host has died. */
const CPU_SECONDS = 3600;
const MAX_REMOVE_MS = 60_000;
const NOBODY_USER = '65534:65534';

/** A container with a name of its own, by which it is removed when the program has ended, for whatever reason. */
export function containerLaunch(settings: ContainerSettings): Launch {
  const { program } = settings;
  const name = `code-${randomUUID()}`;
  return {
    command: program,
    args: containerArgs(settings, name),
    // The program finds its daemon and its settings in it; the container receives none of it.
    env: process.env,
    elsewhere: true,
    // The container survives the program's death, and then detects that its channel is closed.
    diesWithHost: false,
    ownNetwork: true,
    // Resolves even if there is nothing to remove.
    cleanUp: () =>
      new Promise((resolve) => {
        execFile(program, ['rm', '--force', name], { timeout: MAX_REMOVE_MS }, () => resolve());
      }),
  };
}

/** No network, no privileges, only its image's files, read-only, and limits of the kernel. */
export function containerArgs({ image, ociRuntime, limits }: ContainerSettings, name: string): readonly string[] {
  const { memoryMb, diskMb, processes, cpus, outputBytes, fileBytes, files } = limits;
  const inside: RunnerSettings = { folder: FOLDER, outputBytes, fileBytes, files };
  const disk = `rw,nosuid,nodev,noexec,size=${diskMb}m,mode=1777`;
  return [
    ['run', '--interactive', '--rm', '--name', name, '--pull', 'never'],
    ociRuntime ? ['--runtime', ociRuntime] : [],
    [
      '--network',
      'none',
      '--hostname',
      'sandbox',
      '--read-only',
      '--tmpfs',
      `${FOLDER}:${disk}`,
      '--tmpfs',
      `/tmp:${disk}`,
    ],
    ['--cap-drop', 'ALL', '--security-opt', 'no-new-privileges', '--user', NOBODY_USER],
    ['--pids-limit', `${processes}`, '--memory', `${memoryMb}m`, '--memory-swap', `${memoryMb}m`, '--cpus', `${cpus}`],
    ['--ulimit', 'core=0', '--ulimit', 'nofile=256:256', '--ulimit', `cpu=${CPU_SECONDS}`],
    // Otherwise all its output would be kept on the host's disk.
    ['--log-driver', 'none', '--workdir', FOLDER, '--env', `HOME=${FOLDER}`, '--env', 'PYTHONDONTWRITEBYTECODE=1'],
    ['--entrypoint', 'python3', image, '-c', PYTHON_RUNNER, JSON.stringify(inside)],
  ].flat();
}
