/** Code that wants out of the sandbox: it reads no file of the host's, reaches no server, and outlives no limit. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CodeContainer, type CodeRuntime, pyodideRuntime } from 'express-open-responses/code-interpreter';
import { processContainer } from '../../../src/tools/code-interpreter/runtimes/pyodide-container.ts';
import { PYODIDE_LIMITS } from '../../../src/tools/code-interpreter/sandbox/pyodide-settings.ts';
import { sandboxProcess } from '../../../src/tools/code-interpreter/sandbox/sandbox-process.ts';
import { ATTEMPTS, type Attempt, type Bait, ENDLESS } from './escapes.ts';
import { isolation } from './outer.ts';
import { bareLaunch, NEVER, PATIENCE } from './support.ts';

const canary = `canary-${randomUUID()}`;
const folder = mkdtempSync(join(tmpdir(), 'canary-'));
const bait: Bait & { connections: number } = { file: join(folder, 'file'), port: 0, pid: process.pid, connections: 0 };
const server = createServer((socket) => {
  bait.connections += 1;
  socket.end(canary);
});

beforeAll(async () => {
  process.env.CANARY = canary;
  writeFileSync(bait.file, canary);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  // The cast: it listens on a port.
  Object.assign(bait, { port: (server.address() as AddressInfo).port });
});

afterAll(async () => {
  delete process.env.CANARY;
  rmSync(folder, { recursive: true });
  await once(server.close(), 'close');
});

type Runtime = Pick<CodeRuntime, 'create'>;

/** A container for whatever comes next: the one before, where it has survived. */
function containersOf(runtime: Runtime): () => Promise<CodeContainer> {
  let container: CodeContainer | undefined;
  return async () => {
    if (!container?.alive) container = await runtime.create(NEVER);
    return container;
  };
}

/** Everything that the attempt led to, as text. */
async function outcome(container: CodeContainer, code: string): Promise<string> {
  try {
    const { result, error, stdout, stderr, files } = await container.run(code, NEVER);
    const data = files.map((file) => `${file.name}: ${Buffer.from(file.data)}`);
    return error ?? [result ?? 'None', stdout, stderr, ...data].join(' ').trim();
  } catch (lost) {
    if (lost instanceof Error && 'reason' in lost) return `lost: ${lost.reason}`;
    throw lost;
  }
}

function itRefuses(attempts: readonly Attempt[], next: () => Promise<CodeContainer>): void {
  it.each(attempts)(
    '[T-11] refuses %s',
    async (_name, code, expected) => {
      const text = await outcome(await next(), code(bait));
      expect(text).toMatch(expected);
      expect([text.includes(canary), bait.connections, existsSync(`${bait.file}.new`)]).toEqual([false, 0, false]);
    },
    PATIENCE,
  );

  it(
    '[T-11] runs the next code as if nothing had been tried',
    async () => {
      expect(await outcome(await next(), '6 * 7')).toBe('42');
    },
    PATIENCE,
  );
}

/** The realm of the code, and none of the layers around it: Node with all of its powers, as the user who runs the tests. */
const bareRuntime: Runtime = {
  async create() {
    const limits = { ...PYODIDE_LIMITS, runMs: 60_000 };
    const launch = bareLaunch(limits);
    const answer = { bytes: 2 ** 26, textBytes: 2 ** 24, files: limits.files };
    const process = sandboxProcess(launch, { memoryBytes: 2 ** 30, answer, startMs: PATIENCE });
    await process.ready;
    return processContainer(process, limits);
  },
};

describe('in the realm alone, with no layer around it', () => {
  const next = containersOf(bareRuntime);
  afterAll(async () => (await next()).close());
  itRefuses(ATTEMPTS, next);
});

/** All layers together; the sandbox of the system alone is attacked in `test/hostile`. */
describe('in a container with a minute for each run', () => {
  const runtime = pyodideRuntime({ limits: { runMs: 60_000 }, isolation });
  afterAll(() => runtime.close());
  itRefuses(ATTEMPTS, containersOf(runtime));
});

describe('in a container with a second for each run', () => {
  const runtime = pyodideRuntime({ limits: { runMs: 1000 }, isolation });
  afterAll(() => runtime.close());
  itRefuses(ENDLESS, containersOf(runtime));
});
