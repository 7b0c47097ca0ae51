/** A real Redis server for tests. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeWith, findProgram, freePort, type Service, startService } from './services.ts';

const program = findProgram('redis-server');

/** `describe` where there is a redis-server; otherwise a skip whose name says so. */
export const describeRedis = describeWith(program, 'redis-server');

/** How the server is run. */
export interface RedisSetup {
  /** Whether it writes each change to disk before it answers, so that a restart loses nothing; false by default. */
  readonly durable?: boolean;
  readonly cluster?: boolean;
}

/** Starts Redis on a free port of the loopback address. */
export async function startRedis({ durable = false, cluster = false }: RedisSetup = {}): Promise<Service> {
  const folder = await mkdtemp(join(tmpdir(), 'redis-'));
  const port = await freePort();
  const disk = durable ? ['--appendonly', 'yes', '--appendfsync', 'always'] : ['--appendonly', 'no'];
  const mode = cluster ? ['--cluster-enabled', 'yes', '--cluster-port', String(await freePort())] : [];
  return startService({
    url: `redis://127.0.0.1:${port}`,
    folder,
    program: program ?? 'redis-server',
    args: ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', ...disk, ...mode],
    ready: 'Ready to accept connections',
    stopSignal: 'SIGTERM',
  });
}
