/** The layers around the realm of the code, one by one: what would hold if the ones inside did not. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pyodideRuntime } from 'express-open-responses/code-interpreter';
import { type Launch, pyodideFolder, pyodideLaunch } from '../../../src/tools/code-interpreter/sandbox/launch.ts';
import { PYODIDE_LIMITS } from '../../../src/tools/code-interpreter/sandbox/pyodide-settings.ts';
import { describeWhere } from '../../support/skipping.ts';
import { CHILD_FOLDER, fieldOf, NEVER, PATIENCE, sandboxesOf, textOf } from './support.ts';

const linux = describeWhere(process.platform === 'linux', 'only Linux has it');

/** The command line of a container, whose own script is replaced by the text: what could be done by code that got out of the realm. */
function escaped({ command, args }: Launch, script: string): Promise<string> {
  const flags = args.slice(
    0,
    args.findIndex((word) => word.endsWith('child/main.js')),
  );
  const reported = `(async () => { ${script} })().then((v) => console.log('DONE', v), (e) => console.log('REFUSED', e.code ?? e.name));`;
  return new Promise((resolve) => {
    const options = { env: {}, cwd: '/', timeout: PATIENCE };
    execFile(command, [...flags, '-e', reported], options, (_error, stdout) => resolve(stdout.trim()));
  });
}

linux('a process of a container, with no sandbox around it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'layers-'));
  const file = join(folder, 'file');
  const server = createServer((socket) => socket.end('reached'));
  let launch: Launch;

  beforeAll(async () => {
    writeFileSync(file, 'canary');
    launch = await pyodideLaunch(pyodideFolder(), PYODIDE_LIMITS, { name: 'process-only' });
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await once(server.close(), 'close');
  });

  it.each([
    ['reads no file', `return require('node:fs').readFileSync('${file}', 'utf8')`, 'REFUSED ERR_ACCESS_DENIED'],
    ['lists no folder', `return require('node:fs').readdirSync('/')`, 'REFUSED ERR_ACCESS_DENIED'],
    ['writes no file', `return require('node:fs').writeFileSync('${file}', 'x')`, 'REFUSED ERR_ACCESS_DENIED'],
    [
      'starts no process',
      `return require('node:child_process').execFileSync('/bin/true')`,
      'REFUSED ERR_ACCESS_DENIED',
    ],
    [
      'starts no thread',
      `return new (require('node:worker_threads').Worker)('1', { eval: true })`,
      'REFUSED ERR_ACCESS_DENIED',
    ],
    ['makes no code out of text', `return eval('1 + 1')`, 'REFUSED EvalError'],
    ['makes no function out of text', `return (0, (() => {}).constructor)('return 1')()`, 'REFUSED EvalError'],
    [
      "changes nothing of what Node's code inherits from",
      `const { freezeIntrinsics } = await import('${join(CHILD_FOLDER, 'frozen.js')}');
      freezeIntrinsics();
      const seen = [];
      const reached = (value) => [value, ...(Object.getPrototypeOf(value) ? reached(Object.getPrototypeOf(value)) : [])];
      const all = [new RangeError('x'), Promise.resolve(), async () => {}, (function* () {})(), [].values(), new Map(), /x/]
        .flatMap(reached).slice(1).filter((value) => value.constructor && value === value.constructor.prototype);
      for (const value of [...all, ...all.map((one) => one.constructor)])
        for (const name of ['handle', 'then', 'toString', 'prepareStackTrace', 'stackTraceLimit'])
          if (Reflect.set(value, name, 1) || Reflect.defineProperty(value, name, { set() {} })) seen.push(name);
      return [all.length > 7, seen.length, new Error('x').stack, process.stdout.write('')]`,
      'DONE [ true, 0, undefined, true ]',
    ],
    ['finds no environment', 'return Object.keys(process.env).filter((name) => name !== "PWD").length', 'DONE 0'],
  ])(
    '[T-11] %s, even outside the realm',
    async (_name, script, expected) => {
      expect(await escaped(launch, script)).toBe(expected);
    },
    PATIENCE,
  );

  it(
    '[T-11] reaches no server where it has a network of its own, even outside the realm',
    async () => {
      // The cast: it listens on a port.
      const { port } = server.address() as AddressInfo;
      const connect = `return new Promise((done, fail) => require('node:net').connect(${port}, '127.0.0.1', done).on('error', fail))`;
      expect(await escaped(launch, connect)).toMatch(
        launch.ownNetwork ? /^REFUSED (ENETUNREACH|ERR_ACCESS_DENIED)$/ : /./,
      );
    },
    PATIENCE,
  );

  it(
    '[T-11] leaves when its channel closes, where nothing else ends it with the host',
    async () => {
      const { args } = launch;
      const child = spawn(process.execPath, args.slice(args.indexOf(process.execPath) + 1), { env: {}, cwd: '/' });
      await once(child.stdout, 'data');
      child.stdin.end();
      expect(await once(child, 'exit')).toEqual([0, null]);
    },
    PATIENCE,
  );

  it(
    '[T-11] has no powers, no descriptors but its channel, and limits of the kernel',
    async () => {
      const runtime = pyodideRuntime({ warm: 0, isolation: 'process-only' });
      const container = await runtime.create(NEVER);
      const [pid = 0] = sandboxesOf();
      const limits = textOf(pid, 'limits');
      const seen = {
        environment: textOf(pid, 'environ')
          .split('\0')
          .filter(Boolean)
          .map((pair) => pair.split('=')[0]),
        files: /^Max file size +(\d+)/m.exec(limits)?.[1],
        cores: /^Max core file size +(\d+)/m.exec(limits)?.[1],
        data: /^Max data size +(\d+)/m.exec(limits)?.[1],
        ownGroup: textOf(pid, 'stat').split(') ')[1]?.split(' ')[2] === String(pid),
        newPrivileges: fieldOf(pid, 'NoNewPrivs'),
        powers: fieldOf(pid, 'CapEff'),
        ownNetwork: readlinkSync(`/proc/${pid}/ns/net`) !== readlinkSync('/proc/self/ns/net'),
      };
      await container.close();
      await runtime.close();
      const strong = launch.ownNetwork && launch.diesWithHost;
      expect(seen).toEqual({
        environment: seen.environment.filter((name) => name === 'PWD'),
        files: '0',
        cores: '0',
        data: String((512 + 512) * 1024 * 1024),
        ownGroup: true,
        newPrivileges: launch.diesWithHost ? '1' : '0',
        powers: strong ? '0000000000000000' : expect.any(String),
        ownNetwork: launch.ownNetwork,
      });
    },
    PATIENCE,
  );
});
