/** What stands around a container's process: it is there, or creation says what to do. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pyodideRuntime } from '../../../src/tools/code-interpreter/runtimes/pyodide-runtime.ts';
import { bubblewrap } from '../../../src/tools/code-interpreter/sandbox/bubblewrap.ts';
import { resolveIsolation } from '../../../src/tools/code-interpreter/sandbox/isolation.ts';
import { itWhere } from '../../support/skipping.ts';
import { warningLogger } from '../../support/warning-logger.ts';

const LINUX = { platform: 'linux', arch: 'x64', path: '/nowhere:/none' };

/** A folder with a program `bwrap` that does what the script does. */
function withBwrap(script: string) {
  const folder = mkdtempSync(join(tmpdir(), 'bwrap-'));
  const program = join(folder, 'bwrap');
  writeFileSync(program, `#!/bin/sh\n${script}\n`);
  chmodSync(program, 0o755);
  return { folder, program, remove: () => rmSync(folder, { recursive: true }) };
}

describe('resolveIsolation', () => {
  it('[F-01] refuses Linux without bubblewrap, and names the packages and the alternatives', () => {
    expect(() => resolveIsolation('bubblewrap', LINUX)).toThrow(
      "pyodideRuntime needs bubblewrap, and finds no program 'bwrap': install the package bubblewrap (apt install bubblewrap, dnf install bubblewrap, apk add bubblewrap), use containerRuntime(), or accept a sandbox that has only Node's own walls with isolation: 'process-only'",
    );
  });

  it.each(['darwin', 'win32', 'freebsd'])('[F-01] refuses %s unless process-only is asked for', (platform) => {
    expect(() => resolveIsolation('bubblewrap', { ...LINUX, platform })).toThrow(
      `pyodideRuntime: its isolation, bubblewrap, is there on Linux only, not on ${platform}: use containerRuntime(), or accept`,
    );
    expect(resolveIsolation('process-only', { ...LINUX, platform })).toEqual({ name: 'process-only' });
  });

  it('[F-01] refuses processors whose system calls it does not know', () => {
    expect(() => resolveIsolation('bubblewrap', { ...LINUX, arch: 'riscv64' })).toThrow(
      'no filter of system calls for the processor riscv64',
    );
  });

  it('[F-01] finds the program on the PATH, in absolute folders only', () => {
    const { folder, program, remove } = withBwrap('exit 0');
    const found = resolveIsolation('bubblewrap', { ...LINUX, path: `.:relative:/none:${folder}` });
    remove();
    expect(found).toEqual({ name: 'bubblewrap', program, arch: 'x64' });
    expect(() => resolveIsolation('bubblewrap', { ...LINUX, path: `.:${folder.slice(1)}` })).toThrow(
      'needs bubblewrap',
    );
  });
});

const linux = itWhere(process.platform === 'linux', 'only Linux has it');

describe('bubblewrap', () => {
  linux('[F-01] reports the program’s error where it cannot make a sandbox', async () => {
    const { program, remove } = withBwrap('echo "bwrap: No permissions to create new namespace" >&2; exit 1');
    await expect(bubblewrap(program, 'x64')).rejects.toThrow(
      `pyodideRuntime: bubblewrap (${program}) cannot make a sandbox here: bwrap: No permissions to create new namespace. It needs user namespaces, which some systems and most containers forbid: allow them, use containerRuntime()`,
    );
    remove();
  });

  linux('[F-01] makes creation throw, and a container reject, where it does not work', async () => {
    const { folder, remove } = withBwrap('exit 3');
    const { PATH } = process.env;
    process.env.PATH = folder;
    const warnings: string[] = [];
    try {
      const runtime = pyodideRuntime({ warm: 0, logger: warningLogger(warnings) });
      process.env.PATH = PATH;
      await expect(runtime.create(new AbortController().signal)).rejects.toThrow(
        'cannot make a sandbox here: exit code 3',
      );
      await runtime.close();
      process.env.PATH = '/nowhere';
      expect(() => pyodideRuntime()).toThrow('install the package bubblewrap');
    } finally {
      process.env.PATH = PATH;
      remove();
    }
  });
});
