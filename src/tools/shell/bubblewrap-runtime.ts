/** Shells in sandboxes of the system: the programs of the host's /usr, and nothing else of it. */

import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { CONTAINER_FOLDER } from '../../ports/containers/container.ts';
import { isFileName } from '../../ports/containers/file-name.ts';
import { isLogger, type Logger, warner } from '../../ports/host/logger.ts';
import { amountChecks, checkOptions, isObject, positiveInteger, wholeNumber } from '../../ports/host/options-check.ts';
import {
  type CodeContainer,
  type CodeRuntime,
  type CommandRun,
  ContainerLostError,
} from '../../ports/hosted-tools/code-runtime.ts';
import { serialQueue } from '../../ports/queues/serial-queue.ts';
import { jsonIn } from '../../protocol/json/json-text.ts';
import { definedFields, isRecord } from '../../protocol/record.ts';
import { untilAborted } from '../../streams/until-aborted.ts';
import { processLimits } from '../code-interpreter/runtimes/pyodide-runtime.ts';
import { ALONE, type Bind, probeSandbox } from '../code-interpreter/sandbox/bubblewrap.ts';
import { inheritedDescriptors } from '../code-interpreter/sandbox/inherited-descriptors.ts';
import { resolveIsolation } from '../code-interpreter/sandbox/isolation.ts';
import type { Launch } from '../code-interpreter/sandbox/launch.ts';
import { ProcessPool } from '../code-interpreter/sandbox/pool.ts';
import { type SandboxProcess, sandboxProcess } from '../code-interpreter/sandbox/sandbox-process.ts';
import { NetworkProxy } from './network/network-proxy.ts';
import { networkSettings, type ShellNetwork } from './network/shell-network.ts';
import { shellFilter } from './shell-filter.ts';
import { SHELL_RUNNER, type ShellQuestion, type ShellRunnerSettings } from './shell-runner.ts';

/** The limits of one container; sizes are in bytes unless stated otherwise. */
export interface ShellLimits {
  /** The time of one command, in milliseconds, unless the model wants less. */
  readonly runMs: number;
  /** The memory of all of its processes together, in MiB, without its files. */
  readonly memoryMb: number;
  /** The size of `/mnt/data` and `/tmp` together, in MiB; they are in memory. */
  readonly diskMb: number;
  /** Processes and threads. */
  readonly processes: number;
  /** The limit for each of stdout and stderr of a command; the excess is cut off. */
  readonly outputBytes: number;
  /** The limit for all files that one command gives back, and for each file that is put there. */
  readonly fileBytes: number;
  /** How many files one command gives back. */
  readonly files: number;
}

/** `undefined` means omitted. */
export interface BubblewrapRuntimeOptions {
  /**
   * What one container may use. Default: `runMs` 60,000, `memoryMb` 512, `diskMb` 128, `processes` 64, `outputBytes` 1 MiB,
   * `fileBytes` 10 MiB and `files` 64.
   */
  readonly limits?: Partial<ShellLimits> | undefined;
  /** Containers kept ready. Default: 0. */
  readonly warm?: number | undefined;
  /** Containers at the same time, ready ones included; further calls wait. Default: 8. */
  readonly maxContainers?: number | undefined;
  /** What the containers of requests with an allow list may reach. Default: nothing, and such requests are refused. */
  readonly network?: ShellNetwork | undefined;
  /** Receives warnings for the host's log, such as that no container could be kept ready. Default: process warnings. */
  readonly logger?: Logger | false | undefined;
}

const MIB = 1024 * 1024;
const LIMITS: ShellLimits = {
  ...{ runMs: 60_000, memoryMb: 512, diskMb: 128, processes: 64 },
  ...{ outputBytes: MIB, fileBytes: 10 * MIB, files: 64 },
};
const OWNER = 'bubblewrapRuntime';
const NODE = '/node';
const WRITABLE = '/mnt';
/** What the runner itself has: Node's threads, and bubblewrap's process. */
const OWN_THREADS = 32;
const MAX_FILES = 50_000;
/** The way out, as it is seen inside. */
const PROXY = { path: '/proxy', port: 3128 } as const;
/** Where systems keep the certificates of the authorities that their programs trust. */
const AUTHORITIES = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt', '/etc/ssl/cert.pem'];
/** What the runner has to end a command and to read its files. */
const GRACE_MS = 15_000;
/** The end of a command that escaped every other limit. */
const CPU_SECONDS = 3600;
/** The folders of the root that lead into `/usr`, or are folders of their own on older systems. */
const ROOT_FOLDERS = ['/bin', '/sbin', '/lib', '/lib64'];

/**
 * Runs commands in the folder `/mnt/data`, with the programs of the host's `/usr` but for `/usr/local`, in a sandbox without network and without any other file of the
 * host. Needs Linux and the program `bwrap`, and throws if it is not installed. docs/security.md lists what it protects against
 * and what it does not.
 *
 * @example
 * ```ts
 * import { responsesRouter } from 'express-open-responses';
 * import { bubblewrapRuntime, shell } from 'express-open-responses/shell';
 *
 * const runtime = bubblewrapRuntime({ limits: { runMs: 20_000 } });
 * const router = responsesRouter({ tools: shell({ runtime }) });
 * ```
 */
export function bubblewrapRuntime(options: BubblewrapRuntimeOptions = {}): CodeRuntime {
  checkOptions(OWNER, options, {
    limits: isObject,
    warm: wholeNumber(0),
    maxContainers: positiveInteger,
    network: isObject,
    logger: isLogger,
  });
  const { limits: given = {}, warm = 0, maxContainers = 8, network: reach, logger } = options;
  checkOptions(`${OWNER}: limits`, given, amountChecks(LIMITS));
  const limits: ShellLimits = { ...LIMITS, ...definedFields(given) };
  const network = reach && networkSettings(OWNER, reach);
  const isolation = resolveIsolation('bubblewrap', undefined, OWNER);
  // The cast: that isolation has a program.
  const { program, arch } = isolation as Extract<typeof isolation, { readonly name: 'bubblewrap' }>;
  const warn = warner(logger);
  const filter = shellFilter(arch);
  let probe: Promise<void> | undefined;

  async function start(signal: AbortSignal, proxy?: NetworkProxy): Promise<SandboxProcess> {
    // Success is remembered; a refusal is tested again, because it may change.
    probe ??= probeSandbox(program, [...sandboxArgs(program, limits), '/bin/sh', '-c', 'exit 0'], filter);
    await probe.catch((error: unknown) => {
      probe = undefined;
      throw error;
    });
    signal.throwIfAborted();
    const process = sandboxProcess(await shellLaunch(program, limits, filter, proxy), {
      ...processLimits(limits),
      threads: limits.processes + OWN_THREADS,
      inodes: { path: WRITABLE, most: MAX_FILES },
    });
    try {
      await untilAborted(signal, () => process.ready);
      return process;
    } catch (error) {
      process.end();
      throw error;
    }
  }

  const pool = new ProcessPool({
    start: (signal) => start(signal),
    warm: Math.min(warm, maxContainers),
    max: maxContainers,
    onFailure: (error) => warn(`${OWNER}: no container could be kept ready: ${error}`),
  });
  return {
    name: 'bubblewrap',
    runsCode: false,
    runsCommands: true,
    memoryBytes: limits.memoryMb * MIB,
    fileBytes: limits.fileBytes,
    maxContainers,
    keepsTerms: network ? ['allowedDomains'] : [],
    mayReach: (domain) => network?.guard.mayReach(domain) ?? false,
    async create(signal, tenant = '', { allowedDomains } = {}) {
      if (!network || !allowedDomains) return new ShellContainer(await pool.take(signal, tenant), limits);
      const proxy = await NetworkProxy.start(allowedDomains, network);
      try {
        const process = await pool.take(signal, tenant, (closing) => start(closing, proxy));
        process.gone.then(() => proxy.close()).catch(() => {});
        return new ShellContainer(process, limits, proxy);
      } catch (error) {
        await proxy.close();
        throw error;
      }
    },
    close: () => pool.close(),
  };
}

/** Nothing is writable but one file system in memory, of a limited size. */
function sandboxArgs(program: string, { diskMb }: ShellLimits, binds: readonly Bind[] = []): readonly string[] {
  const root = ROOT_FOLDERS.filter((path) => existsSync(path)).flatMap((path) =>
    lstatSync(path).isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path],
  );
  return [
    ['env', '-i', program, ...ALONE, '--ro-bind', '/usr', '/usr', ...root],
    // What hosts install by hand may hold secrets.
    existsSync('/usr/local') ? ['--tmpfs', '/usr/local', '--remount-ro', '/usr/local'] : [],
    existsSync('/etc/alternatives') ? ['--ro-bind', '/etc/alternatives', '/etc/alternatives'] : [],
    existsSync('/etc/ld.so.cache') ? ['--ro-bind', '/etc/ld.so.cache', '/etc/ld.so.cache'] : [],
    binds.flatMap(([source, place]) => ['--ro-bind', source, place]),
    ['--ro-bind', process.execPath, NODE, '--proc', '/proc', '--dev', '/dev', '--remount-ro', '/dev'],
    ['--size', String(diskMb * MIB), '--tmpfs', WRITABLE, '--dir', CONTAINER_FOLDER, '--dir', `${WRITABLE}/tmp`],
    ['--symlink', `${WRITABLE}/tmp`.slice(1), '/tmp', '--remount-ro', '/', '--chdir', '/', '--'],
  ].flat();
}

async function shellLaunch(
  program: string,
  limits: ShellLimits,
  filter: Uint8Array,
  proxy?: NetworkProxy,
): Promise<Launch> {
  const { processes, memoryMb, diskMb, outputBytes, fileBytes, files } = limits;
  // A shell that cannot set a limit runs nothing; it is `-p` in some that `-u` is in others.
  const limit = [
    `ulimit -c 0 && ulimit -d ${memoryMb * 1024} && ulimit -f ${diskMb * 2048} && ulimit -n 256 && ulimit -t ${CPU_SECONDS}`,
    `{ ulimit -u ${processes + OWN_THREADS} 2>/dev/null || ulimit -p ${processes + OWN_THREADS}; }`,
  ];
  const authorities = proxy && AUTHORITIES.find((path) => existsSync(path));
  const binds: readonly Bind[] = [
    ...(proxy ? [[proxy.path, PROXY.path] as const] : []),
    ...(authorities ? [[realpathSync(authorities), authorities] as const] : []),
  ];
  const inside: ShellRunnerSettings = {
    folder: CONTAINER_FOLDER,
    shell: existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh',
    env: {
      ...{ PATH: '/usr/bin:/usr/sbin:/bin:/sbin', HOME: CONTAINER_FOLDER, USER: 'nobody', LANG: 'C.UTF-8' },
      ...{ TMPDIR: '/tmp', PYTHONDONTWRITEBYTECODE: '1' },
      ...(proxy ? proxyVariables(authorities) : {}),
    },
    proxy: proxy ? PROXY : null,
    limits: `${limit.join(' && ')} || exit 126; `,
    ...{ outputBytes, fileBytes, files },
  };
  const node = [NODE, '--no-warnings', '--max-old-space-size=256', '-e', SHELL_RUNNER, JSON.stringify(inside)];
  const [command = '', ...args] = ['/usr/bin/env', ...sandboxArgs(program, limits, binds).slice(1), ...node];
  const inherited = await inheritedDescriptors();
  return { command, args, filter, hasFamily: true, diesWithHost: true, ownNetwork: true, inherited };
}

/** How programs find the way out, and whom they trust there. */
function proxyVariables(authorities: string | undefined): Readonly<Record<string, string>> {
  const url = `http://127.0.0.1:${PROXY.port}`;
  return {
    ...{ HTTPS_PROXY: url, https_proxy: url, HTTP_PROXY: url, http_proxy: url, NODE_USE_ENV_PROXY: '1' },
    ...(authorities ? { SSL_CERT_FILE: authorities } : {}),
  };
}

/** A container whose commands share files, and nothing else. */
class ShellContainer implements CodeContainer {
  private readonly process: SandboxProcess;
  private readonly limits: ShellLimits;
  private readonly proxy: NetworkProxy | undefined;
  private readonly enqueue = serialQueue();

  constructor(process: SandboxProcess, limits: ShellLimits, proxy?: NetworkProxy) {
    this.process = process;
    this.limits = limits;
    this.proxy = proxy;
  }

  get alive(): boolean {
    return !this.process.life.aborted;
  }

  async run(): Promise<never> {
    throw new Error('The containers of a shell run no Python by themselves.');
  }

  exec(
    { command, timeoutMs, outputBytes = this.limits.outputBytes }: Parameters<NonNullable<CodeContainer['exec']>>[0],
    signal: AbortSignal,
  ): Promise<CommandRun> {
    const time = Math.min(timeoutMs ?? this.limits.runMs, this.limits.runMs);
    const question: ShellQuestion = { command, timeoutMs: time, outputBytes };
    return untilAborted(signal, () =>
      this.enqueue(async () => {
        this.proxy?.begin();
        const { texts, files } = await this.ask(question, time + GRACE_MS, signal).finally(() => this.proxy?.end());
        const result = jsonIn(texts.result ?? '');
        if (texts.refused !== undefined || !isRecord(result)) {
          this.process.end();
          throw new ContainerLostError('crash', 'The command broke its container, which is gone.');
        }
        const { exitCode, removed } = result;
        return {
          ...{ stdout: texts.stdout ?? '', stderr: texts.stderr ?? '' },
          exitCode: typeof exitCode === 'number' && Number.isInteger(exitCode) ? exitCode : undefined,
          files: files.filter(({ name }) => isFileName(name)),
          removed: Array.isArray(removed) ? removed.filter((name) => typeof name === 'string') : [],
        };
      }),
    );
  }

  async put({ name, data }: { readonly name: string; readonly data: Uint8Array }): Promise<void> {
    const { fileBytes, runMs } = this.limits;
    if (!isFileName(name)) throw new TypeError(`A file in a container cannot be named ${JSON.stringify(name)}.`);
    if (data.byteLength > fileBytes)
      throw new RangeError(`The file '${name}' has ${data.byteLength} bytes; a container takes at most ${fileBytes}.`);
    const fields = [['name', Buffer.from(name)] as const, ['data', Buffer.from(data)] as const];
    await this.enqueue(async () => {
      const { refused } = (await this.process.request(fields, runMs, new AbortController().signal)).texts;
      if (refused !== undefined) throw new Error(`The file '${name}' could not be put there: ${refused}`);
    });
  }

  async remove(name: string): Promise<void> {
    if (!isFileName(name)) return;
    await this.enqueue(() => this.ask({ remove: name }, this.limits.runMs, new AbortController().signal));
  }

  async close(): Promise<void> {
    this.process.end();
    await this.process.gone;
  }

  private ask(question: ShellQuestion, timeoutMs: number, signal: AbortSignal) {
    return this.process.request([['code', Buffer.from(JSON.stringify(question))]], timeoutMs, signal);
  }
}
