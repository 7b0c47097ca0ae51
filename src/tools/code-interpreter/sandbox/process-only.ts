/** The restrictions that util-linux can add to a process without a sandbox. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Programs that end by executing the given program, and the isolation they achieve. */
export interface Wrapper {
  readonly words: readonly string[];
  readonly diesWithHost: boolean;
  readonly ownNetwork: boolean;
}

const OWN_NETWORK = ['unshare', '--user', '--map-root-user', '--net', '--'];
const DIES = ['setpriv', '--pdeathsig', 'KILL', '--no-new-privs'];
const POWERLESS = ['--inh-caps=-all', '--bounding-set=-all'];

/** The strongest first. Containers often refuse `unshare`. */
const WRAPPERS: readonly Wrapper[] = [
  { words: [...OWN_NETWORK, ...DIES, ...POWERLESS, '--'], ownNetwork: true, diesWithHost: true },
  { words: [...OWN_NETWORK, ...DIES, '--'], ownNetwork: true, diesWithHost: true },
  { words: OWN_NETWORK, ownNetwork: true, diesWithHost: false },
  { words: [...DIES, ...POWERLESS, '--'], ownNetwork: false, diesWithHost: true },
  { words: [...DIES, '--'], ownNetwork: false, diesWithHost: true },
];

const NOTHING: Wrapper = { words: [], ownNetwork: false, diesWithHost: false };
const SHELL = '/bin/sh';
/** Long, so that a slow machine is not mistaken for one that refuses. */
const PROBE_MS = 60_000;
const run = promisify(execFile);

/** The strongest one that works here. */
export function strongestWrapper(): Promise<Wrapper> {
  return strongest(WRAPPERS);
}

async function strongest([first, ...rest]: readonly Wrapper[]): Promise<Wrapper> {
  if (!first || process.platform === 'win32') return NOTHING;
  try {
    // Uses the same shell, which finds programs although the environment is empty.
    await run(SHELL, ['-c', 'exec "$@"', 'sh', ...first.words, 'true'], { env: {}, cwd: '/', timeout: PROBE_MS });
    return first;
  } catch {
    return strongest(rest);
  }
}
