/** OpenAI's shell in a container as a tool that this server runs. */

import type { ContainerFile, NetworkPolicy } from '../../ports/containers/container.ts';
import { containerExpired } from '../../ports/containers/container-errors.ts';
import { checkTerms } from '../../ports/containers/container-terms.ts';
import { readOwnWishes, readWishes } from '../../ports/containers/container-wishes.ts';
import type { Containers, ContainerWishes } from '../../ports/containers/containers.ts';
import {
  type SharedContainersOptions,
  shareContainers,
  sharedChecks,
} from '../../ports/containers/create-containers.ts';
import { checkOptions, isObject, positiveInteger } from '../../ports/host/options-check.ts';
import { type CodeFile, ContainerLostError } from '../../ports/hosted-tools/code-runtime.ts';
import { type MountedSkill, mountedSkills } from '../../ports/skills/mounted-skills.ts';
import { isSkillSource, type SkillSource } from '../../ports/skills/skill-source.ts';
import type { ProvidedTool, ToolProvider } from '../../ports/tool-provider.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { ShellOutput, WrittenFile } from '../../protocol/items.ts';
import { toWellFormed, truncateText } from '../../protocol/printable.ts';
import { definedFields, isRecord, type JsonObject } from '../../protocol/record.ts';
import { SHELL, SHELL_PARAMETERS, shellOutputText, skillLines } from '../../protocol/tool-calls/shell-calls.ts';
import { bubblewrapRuntime } from './bubblewrap-runtime.ts';

/** How much of the commands of one call is run and returned. */
export interface ShellCallLimits {
  /** Commands of one call. */
  readonly commands: number;
  /** The time of all commands of a call together, in milliseconds, unless the model wants less. */
  readonly timeoutMs: number;
  /** Characters of the outputs of all commands together. */
  readonly outputCharacters: number;
}

/**
 * The containers, or what they are made of, the skills that requests may name, and the limits of a call; `undefined` means omitted.
 * Default of `runtime`: a `bubblewrapRuntime()` that is closed with the provider.
 */
export interface ShellOptions extends SharedContainersOptions {
  /** Made by `createSkills`: requests may name skills of their tenant, and bring their own. Default: neither. */
  readonly skills?: SkillSource | undefined;
  /** Default: 32 commands, 60,000 ms and 30,000 characters. */
  readonly limits?: { readonly [Name in keyof ShellCallLimits]?: ShellCallLimits[Name] | undefined } | undefined;
}

const DEFAULTS: ShellCallLimits = { commands: 32, timeoutMs: 60_000, outputCharacters: 30_000 };

const TOOL: ProvidedTool = {
  server: SHELL,
  name: SHELL,
  requestedBy: SHELL,
  description:
    'Runs commands in the shell of a container, one after the other, and returns the output and the exit code of each of them. Files ' +
    'in its working directory, /mnt/data, stay for the next call; processes do not. There is no network, unless it is said here.',
  parameters: SHELL_PARAMETERS,
};

/**
 * Creates a provider for the option `tools`: it serves requests whose `tools` contain a `shell` with an `environment` of
 * `container_auto` or `container_reference`; a shell without one, or of type `local`, stays the client's. Throws a `TypeError` for a bad option and for a
 * runtime that runs no commands. Without a `runtime` it throws if `bubblewrapRuntime()` does: without `bwrap`, and on other systems
 * than Linux.
 *
 * @example
 * ```ts
 * import { responsesRouter } from 'express-open-responses';
 * import { shell } from 'express-open-responses/shell';
 *
 * const router = responsesRouter({ tools: shell() });
 * ```
 */
export function shell(options: ShellOptions = {}): ToolProvider {
  // Checked before a runtime starts its processes.
  checkOptions(SHELL, options, { ...sharedChecks, limits: isObject, skills: isSkillSource });
  const { limits = {}, skills, ...shared } = options;
  checkOptions('shell: limits', limits, {
    ...{ commands: positiveInteger, timeoutMs: positiveInteger, outputCharacters: positiveInteger },
  });
  const { commands: maxCommands, timeoutMs: maxMs, outputCharacters } = { ...DEFAULTS, ...definedFields(limits) };
  const ownRuntime = shared.containers || shared.runtime ? undefined : bubblewrapRuntime();
  const { containers, close } = shareContainers(SHELL, ownRuntime ? { ...shared, runtime: ownRuntime } : shared);
  const { runtime } = containers;
  if (runtime.runsCommands !== true) {
    const others = 'use bubblewrapRuntime(), or containerRuntime() with Docker or Podman';
    throw new TypeError(`shell: runtime must run commands, and '${runtime.name}' runs none; ${others}`);
  }
  const mounts = new WeakMap<object, Promise<readonly MountedSkill[]>>();
  const skillsIn = (settings: JsonObject, scope: string, param: string) => {
    const mounted =
      mounts.get(settings) ??
      mountedSkills(Object(settings.environment).skills, skills, scope, `${param}.environment.skills`);
    mounts.set(settings, mounted);
    return mounted;
  };

  /** What the container of a request may reach: what the request says of its own, or what its maker said of the one that it names. */
  const policyIn = async (environment: unknown, scope: string) => {
    const { type, container_id: id } = isRecord(environment) ? environment : {};
    if (type !== 'container_reference') return wishesIn(environment).networkPolicy;
    return (await containers.find({ scope, id: String(id) }))?.networkPolicy;
  };

  return {
    name: SHELL,
    list: () => [TOOL],
    check({ environment }, _request, param) {
      checkEnvironment(environment, `${param}.environment`);
      const at = `${param}.environment.`;
      checkTerms(runtime, readWishes(environment, at), at);
    },
    async about(settings, { scope }, param) {
      const mounted = await skillsIn(settings, scope, param);
      const lines = [
        ...networkLines(await policyIn(settings.environment, scope)),
        ...skillLines(mounted.map(({ about }) => about)),
      ];
      return lines.length === 0 ? undefined : lines.join('\n');
    },
    async hasContainer(key) {
      const container = await containers.find(key);
      if (container?.status === 'expired') throw containerExpired('tools');
      return container !== undefined;
    },
    async call({ scope, workspace, settings = {}, arguments: wanted, onProgress }, signal) {
      if (!workspace) throw new Error('There is no container for the commands.');
      // The schema has been checked.
      const list: readonly unknown[] = Array.isArray(wanted.commands) ? wanted.commands : [];
      if (list.length === 0) throw new Error('There are no commands.');
      if (list.length > maxCommands) throw new Error(`A call may have at most ${maxCommands} commands.`);
      const mounted = await skillsIn(settings, scope, 'tools');
      const call = {
        containers,
        key: { scope, id: workspace.container },
        files: [...workspace.files(), ...mounted.flatMap((skill) => skill.files)],
        wishes: wishesIn(settings.environment),
        deadline: Date.now() + Math.min(positive(wanted.timeout_ms) ?? maxMs, maxMs),
      };
      const perCommand = Math.min(positive(wanted.max_output_length) ?? outputCharacters, outputCharacters);
      const commandOutputs: ShellOutput[] = [];
      const written = new Map<string, WrittenFile>();
      let charactersLeft = outputCharacters;
      for (const [index, command] of list.entries()) {
        const most = Math.min(perCommand, Math.ceil(charactersLeft / (list.length - index)));
        const output = await runCommand(String(command), call, most, signal);
        commandOutputs.push(output);
        for (const { id, name } of output.written ?? []) written.set(id, { file_id: id, name });
        charactersLeft -= output.stdout.length + output.stderr.length;
        onProgress?.({ progress: index + 1, total: list.length });
        if (output.outcome.type === 'timeout' || output.isLost) break;
      }
      const shown = commandOutputs.map(({ stdout, stderr, outcome }) => ({ stdout, stderr, outcome }));
      const kept = written.size === 0 ? {} : { written: [...written.values()] };
      return { content: shellOutputText(shown), commandOutputs: shown, ...kept };
    },
    async close() {
      await close();
      await ownRuntime?.close();
    },
  };
}

/** What one command printed and wrote. */
type CommandResult = ShellOutput & {
  readonly written?: readonly ContainerFile[];
  /** Whether its container is gone. */
  readonly isLost?: boolean;
};

/** What all commands of a call share. */
interface Call {
  readonly containers: Pick<Containers, 'exec'>;
  readonly key: { readonly scope: string; readonly id: string };
  readonly files: readonly CodeFile[];
  readonly wishes: ContainerWishes;
  /** Milliseconds since the epoch. */
  readonly deadline: number;
}

async function runCommand(
  command: string,
  { containers, key, files, wishes, deadline }: Call,
  characters: number,
  signal: AbortSignal,
): Promise<CommandResult> {
  const timeoutMs = Math.max(deadline - Date.now(), 1);
  try {
    const run = await containers.exec(key, { command, timeoutMs }, files, signal, wishes);
    const unkept =
      run.unkept.length === 0 ? '' : `\n(Not kept, for lack of room: ${run.unkept.slice(0, 10).join(', ')})`;
    const stderr = cutMiddle(run.stderr + unkept, Math.max(Math.floor(characters / 2), characters - run.stdout.length));
    const stdout = cutMiddle(run.stdout, Math.max(characters - stderr.length, 0));
    const outcome: ShellOutput['outcome'] =
      run.exitCode === undefined ? { type: 'timeout' } : { type: 'exit', exit_code: run.exitCode };
    return { stdout, stderr, outcome, written: run.written };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ContainerLostError)) throw error;
    const outcome: ShellOutput['outcome'] =
      error.reason === 'timeout' ? { type: 'timeout' } : { type: 'exit', exit_code: KILLED };
    return { stdout: '', stderr: error.message, outcome, isLost: true };
  }
}

/** The exit code of a command that was killed. */
const KILLED = 137;
const ENVIRONMENTS: ReadonlySet<unknown> = new Set(['container_auto', 'container_reference']);

/** Throws an `ApiError`. */
function checkEnvironment(environment: unknown, param: string): asserts environment is JsonObject {
  if (!isRecord(environment) || !ENVIRONMENTS.has(environment.type)) {
    const message = `Invalid '${param}.type': supported values are 'container_auto', 'container_reference' and 'local'.`;
    throw new ApiError('invalid_value', message, { param: `${param}.type` });
  }
  if (environment.type === 'container_reference' && typeof environment.container_id !== 'string')
    throw new ApiError('missing_required_parameter', `Missing required parameter: '${param}.container_id'.`, {
      param: `${param}.container_id`,
    });
}

/** A container that a request names has terms of its own. */
function wishesIn(environment: unknown): ContainerWishes {
  const isAuto = isRecord(environment) && environment.type === 'container_auto';
  return isAuto ? readOwnWishes(environment) : {};
}

function networkLines(policy: NetworkPolicy | undefined): readonly string[] {
  if (policy?.type !== 'allowlist') return [];
  const hosts = policy.allowedDomains?.join(', ');
  return [`Only these hosts can be reached, by HTTPS and through the proxy that HTTPS_PROXY names: ${hosts}.`];
}

function positive(value: unknown): number | undefined {
  return typeof value === 'number' && value > 0 ? value : undefined;
}

/** Its beginning and its end, because an error comes last; never longer than the limit. */
function cutMiddle(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const note = `\n… (${text.length - limit} characters or more left out) …\n`;
  if (note.length >= limit) return truncateText(text, limit);
  const half = Math.floor((limit - note.length) / 2);
  return toWellFormed(`${text.slice(0, half)}${note}${text.slice(text.length - half)}`);
}
