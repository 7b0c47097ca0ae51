/** The restrictions that util-linux can add to a process without a sandbox. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Programs that end by executing the given program, and the isolation they achieve. */
export interface Wrapper {
  readonly prefix: readonly string[];
  readonly diesWithHost: boolean;
  readonly ownNetwork: boolean;
}

const OWN_NETWORK = ['unshare', '--user', '--map-root-user', '--net', '--'];
const DIES_WITH_HOST = ['setpriv', '--pdeathsig', 'KILL', '--no-new-privs'];
const NO_CAPABILITIES = ['--inh-caps=-all', '--bounding-set=-all'];

/** The strongest first. Containers often refuse `unshare`. */
const WRAPPERS: readonly Wrapper[] = [
  { prefix: [...OWN_NETWORK, ...DIES_WITH_HOST, ...NO_CAPABILITIES, '--'], ownNetwork: true, diesWithHost: true },
  { prefix: [...OWN_NETWORK, ...DIES_WITH_HOST, '--'], ownNetwork: true, diesWithHost: true },
  { prefix: OWN_NETWORK, ownNetwork: true, diesWithHost: false },
  { prefix: [...DIES_WITH_HOST, ...NO_CAPABILITIES, '--'], ownNetwork: false, diesWithHost: true },
  { prefix: [...DIES_WITH_HOST, '--'], ownNetwork: false, diesWithHost: true },
];

const NO_WRAPPER: Wrapper = { prefix: [], ownNetwork: false, diesWithHost: false };
const SHELL = '/bin/sh';
/** Long, so that a slow machine is not mistaken for one that refuses. */
const PROBE_MS = 60_000;
const run = promisify(execFile);

/** The strongest one that works here. */
export async function strongestWrapper(): Promise<Wrapper> {
  if (process.platform === 'win32') return NO_WRAPPER;
  for (const wrapper of WRAPPERS) {
    try {
      // Uses the same shell, which finds programs although the environment is empty.
      await run(SHELL, ['-c', 'exec "$@"', 'sh', ...wrapper.prefix, 'true'], { env: {}, cwd: '/', timeout: PROBE_MS });
      return wrapper;
    } catch {
      // The next one needs less.
    }
  }
  return NO_WRAPPER;
}
