/** The command line of Docker or Podman: how a container is started, and which options are refused. */
import { type ContainerRuntimeOptions, containerRuntime } from 'express-open-responses/code-interpreter';
import { containerArgs } from '../../../src/tools/code-interpreter/runtimes/container-launch.ts';
import { containerSettings } from '../../../src/tools/code-interpreter/runtimes/container-settings.ts';

describe('the command line of a container', () => {
  const args = (options: Omit<ContainerRuntimeOptions, 'image'> = {}) =>
    containerArgs(containerSettings({ image: 'python:3', ...options }), 'name').join(' ');

  it('[F-01] takes away the network, powers, other users, disks and what the kernel limits', () => {
    for (const words of [
      '--pull never',
      '--network none',
      '--read-only',
      '--tmpfs /mnt/data:rw,nosuid,nodev,noexec,size=64m,mode=1777',
      '--cap-drop ALL',
      '--security-opt no-new-privileges',
      '--user 65534:65534',
      '--pids-limit 64',
      '--memory 512m --memory-swap 512m',
      '--cpus 1',
      '--ulimit core=0',
      '--log-driver none',
    ])
      expect(args()).toContain(` ${words} `);
    expect(args()).not.toMatch(/--(volume|mount|privileged|device|publish|env-file|pid|ipc|userns|cap-add)\b| -v /);
  });

  it('[F-01] says the limits and the OCI runtime that were given', () => {
    const limits = { memoryMb: 100, diskMb: 7, processes: 9, cpus: 0.5 };
    const line = args({ ociRuntime: 'runsc', limits });
    for (const words of ['--runtime runsc', '--memory 100m', 'size=7m', '--pids-limit 9', '--cpus 0.5'])
      expect(line).toContain(words);
  });
});

describe('containerRuntime', () => {
  it.each<readonly [object, string]>([
    [{}, 'containerRuntime: image must be the name of an image, got undefined'],
    [{ image: '--privileged' }, "containerRuntime: image must be the name of an image, got '--privileged'"],
    [{ image: 'a b' }, "containerRuntime: image must be the name of an image, got 'a b'"],
    [{ image: 'x', ociRuntime: '-v' }, "containerRuntime: ociRuntime must be the name of an OCI runtime, got '-v'"],
    [
      { image: 'x', limits: { cpus: 0 } },
      'containerRuntime: limits: cpus must be a number above 0 and at most 1024, got 0',
    ],
    [
      { image: 'x', limits: { diskMb: 0.5 } },
      'containerRuntime: limits: diskMb must be a positive whole number, got 0.5',
    ],
    [{ image: 'x', limits: { gpu: 1 } }, "containerRuntime: limits: unknown option 'gpu'"],
    [{ image: 'x', warm: -1 }, 'containerRuntime: warm must be a whole number from 0, got -1'],
    [{ image: 'x', volumes: [] }, "containerRuntime: unknown option 'volumes'"],
    [{ image: 'x', program: '/nowhere/docker' }, "containerRuntime: there is no program '/nowhere/docker'"],
  ])('takes no %j', (options, message) => {
    // The cast: what TypeScript would refuse.
    expect(() => containerRuntime(options as ContainerRuntimeOptions)).toThrow(message);
  });
});
