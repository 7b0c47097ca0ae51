/** A process of the sandbox: its properties as the kernel reports them, and its end if it uses too much. */
import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NODE } from '../../src/tools/code-interpreter/sandbox/bubblewrap.ts';
import { sandboxProcess } from '../../src/tools/code-interpreter/sandbox/sandbox-process.ts';
import { startChild } from '../../src/tools/code-interpreter/sandbox/start-child.ts';
import { describeSandboxed, outerLaunch, scriptFile } from '../tools/code-interpreter/outer.ts';
import { fieldOf, PATIENCE } from '../tools/code-interpreter/support.ts';
import { tally } from './tally.ts';

const { tried } = tally('a process of the sandbox');

const canary = `canary-${randomUUID()}`;

const root = join(import.meta.dirname, '../..');

/** A folder with the files of src, compiled one by one: the package's own build has bundled them. */
function compiledInside(): string {
  // In dist, where the scripts of the sandbox are found.
  const folder = mkdtempSync(join(root, 'dist/inside-'));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const asCode = ['--emitDeclarationOnly', 'false', '--declaration', 'false', '--declarationMap', 'false'];
  const asCommonJs = ['--module', 'commonjs', '--moduleResolution', 'bundler', '--verbatimModuleSyntax', 'false'];
  const options = ['-p', 'tsconfig.build.json', ...asCode, ...asCommonJs, '--outDir', folder];
  execFileSync(process.execPath, [tsc, ...options], { cwd: root });
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }');
  const sources = join(root, 'src');
  for (const path of readdirSync(sources, { recursive: true, encoding: 'utf8' }))
    if (path.endsWith('.cjs')) cpSync(join(sources, path), join(folder, path));
  return folder;
}

describeSandboxed('a process of the sandbox', () => {
  it(
    '[F-01] has the filter, no capabilities, the user nobody, and its own namespaces',
    async () => {
      const { file, remove } = scriptFile('setInterval(() => {}, 1000); console.log("up")');
      const started = startChild(await outerLaunch([NODE, '/script.mjs'], [[file, '/script.mjs']]));
      await Promise.all([once(started.child.stdout, 'data'), started.pidReported]);
      const pid = started.codePids()[0] ?? 0;
      const seen = ['Seccomp', 'NoNewPrivs', 'CapEff', 'CapPrm', 'CapBnd', 'NSpid'].map((name) => fieldOf(pid, name));
      const spaces = ['mnt', 'pid', 'net', 'ipc', 'uts', 'user', 'cgroup'].filter(
        (name) => namespaceOf(pid, name) === namespaceOf(process.pid, name),
      );
      const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
      started.child.kill('SIGKILL');
      remove();
      const none = '0000000000000000';
      expect(seen).toEqual(['2', '1', none, none, none, expect.stringMatching(/\t1$/)]);
      expect(spaces).toEqual([]);
      expect(/^Max file size +(\d+)/m.exec(limits)?.[1]).toBe('0');
      tried('facts that the kernel shows', seen.length + 8);
    },
    PATIENCE,
  );

  it(
    '[F-01] inherits no descriptor that the host’s parent left open',
    async () => {
      const secret = scriptFile(canary);
      const requested = `import { readSync } from 'node:fs'; let text = '';
        for (let fd = 3; fd < 100; fd += 1) try { const b = Buffer.alloc(99); text += b.toString('utf8', 0, readSync(fd, b, 0, 99, 0)); } catch {}
        console.log('END', text)`;
      const script = scriptFile(requested);
      const dist = compiledInside();
      const host = `
        const { pyodideLaunch, pyodideFolder } = await import('${dist}/tools/code-interpreter/sandbox/launch.js');
        const { resolveIsolation } = await import('${dist}/tools/code-interpreter/sandbox/isolation.js');
        const { startChild } = await import('${dist}/tools/code-interpreter/sandbox/start-child.js');
        const { PYODIDE_LIMITS } = await import('${dist}/tools/code-interpreter/sandbox/pyodide-settings.js');
        const launch = await pyodideLaunch(pyodideFolder(), PYODIDE_LIMITS, resolveIsolation('bubblewrap'));
        const at = launch.args.indexOf('--remount-ro'), node = launch.args.lastIndexOf('/node');
        const args = [...launch.args.slice(0, at), '--ro-bind', ${JSON.stringify(script.file)}, '/s.mjs', ...launch.args.slice(at, node), '/node', '/s.mjs'];
        startChild({ ...launch, args }).child.stdout.pipe(process.stdout);`;
      const open = openSync(secret.file, 'r');
      const stdio = ['ignore', 'pipe', 'inherit', 'ignore', 'ignore', open, ...Array(60).fill('ignore'), open] as const;
      const child = spawn(process.execPath, ['--input-type=module', '-e', host], { stdio: [...stdio] });
      let written = '';
      child.stdout?.on('data', (chunk) => {
        written += chunk;
      });
      await once(child, 'close');
      secret.remove();
      script.remove();
      rmSync(dist, { recursive: true });
      expect(written.trim()).toBe('END');
      tried('descriptors left open', 2);
    },
    PATIENCE,
  );
});

describeSandboxed('a process of the sandbox that takes too much', () => {
  const limits = {
    memoryBytes: 400 * 1024 * 1024,
    answer: { bytes: 1_000_000, textBytes: 100_000, files: 1 },
    startMs: PATIENCE,
  };

  /** The reason of its end, and whether anything of it is left. */
  async function ended(text: string, more: Partial<typeof limits> = {}): Promise<unknown> {
    const { file, remove } = scriptFile(text);
    const sandbox = sandboxProcess(await outerLaunch([NODE, '/script.mjs'], [[file, '/script.mjs']]), {
      ...limits,
      ...more,
    });
    const lost = await sandbox.ready.catch((error: unknown) => error);
    await sandbox.gone;
    remove();
    tried('ways to take too much');
    return lost;
  }

  it.each<readonly [string, string, Partial<typeof limits>, object]>([
    ['memory', 'const kept = []; for (;;) kept.push(Buffer.alloc(1e7, 1));', {}, { reason: 'memory' }],
    ['time', 'for (;;);', { startMs: 2000 }, { reason: 'timeout' }],
    [
      'time, ignoring signals',
      `process.on('SIGTERM', () => {}).on('SIGINT', () => {}); setInterval(() => {}, 1000)`,
      { startMs: 2000 },
      { reason: 'timeout' },
    ],
    ['output', `for (;;) (await import('node:fs')).writeSync(1, 'x'.repeat(50_000))`, {}, { reason: 'output' }],
    ['itself', 'process.abort()', {}, { reason: 'crash', message: expect.stringContaining('SIGSEGV') }],
  ])(
    '[F-01] ends it: %s',
    async (_name, text, more, lost) => {
      expect(await ended(text, more)).toMatchObject(lost);
    },
    PATIENCE,
  );
});

function namespaceOf(pid: number, name: string): number {
  return statSync(`/proc/${pid}/ns/${name}`).ino;
}
