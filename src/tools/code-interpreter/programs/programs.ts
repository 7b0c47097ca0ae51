/** OpenAI's programmatic tool calling as a tool that this server runs: JavaScript that the model writes, in a sandbox, and that calls the request's tools. */

import { isLogger, type Logger, warner } from '../../../ports/host/logger.ts';
import {
  checkOptions,
  isObject,
  milliseconds,
  positiveInteger,
  wholeNumber,
} from '../../../ports/host/options-check.ts';
import type { ProgramStep, RunningProgram } from '../../../ports/programs/program-runtime.ts';
import { limitScope } from '../../../ports/scope.ts';
import type { ProvidedTool, ToolProvider } from '../../../ports/tool-provider.ts';
import { PROGRAMS } from '../../../protocol/tool-calls/program-call.ts';
import { untilAborted } from '../../../streams/until-aborted.ts';
import { ISOLATIONS, type IsolationName, resolveIsolation } from '../sandbox/isolation.ts';
import { programLaunch } from '../sandbox/launch.ts';
import { ProcessPool } from '../sandbox/pool.ts';
import { type SandboxProcess, sandboxProcess } from '../sandbox/sandbox-process.ts';

/** What one program may use. */
export interface ProgramLimits {
  /** The time that it may compute between two calls, in milliseconds; the time of its calls does not count. */
  readonly runMs: number;
  /** The memory of its whole process, in MiB; Node itself takes about 60. */
  readonly memoryMb: number;
}

/** `undefined` means omitted. */
export interface ProgramsOptions {
  /** What one program may use. Default: `runMs` 10,000 and `memoryMb` 256. */
  readonly limits?: { readonly [Name in keyof ProgramLimits]?: ProgramLimits[Name] | undefined } | undefined;
  /** Processes kept ready, so that a program need not wait for one to start. Default: 1. */
  readonly warm?: number | undefined;
  /** Programs at the same time; further ones wait. One that waits for its client takes no place. Default: 8. */
  readonly max?: number | undefined;
  /** As for `pyodideRuntime`. Default: `bubblewrap`; without the program `bwrap`, creation throws. */
  readonly isolation?: IsolationName | undefined;
  /** Receives warnings for the host's log. Default: process warnings. */
  readonly logger?: Logger | false | undefined;
}

const MIB = 1024 * 1024;
const MAX_START_MS = 120_000;
const MAX_MEMORY_MB = 4096;
const MIN_MEMORY_MB = 128;
const MAX_WARM = 1000;
/** Of all texts that a program writes, in characters, and of the arguments of one call. */
const OUTPUT_CHARACTERS = MIB;
const ARGUMENT_BYTES = MIB;
/** What the host reads of one answer: a program's own realm is more polite. */
const ANSWER = { bytes: 32 * MIB, textBytes: 8 * MIB, files: 4096 };

const TOOL: ProvidedTool = {
  server: PROGRAMS,
  name: PROGRAMS,
  requestedBy: PROGRAMS,
  // It does nothing but compute: its calls have results and approvals of their own, and a lost one is repeated.
  annotations: { readOnlyHint: true },
  description: [
    'Runs a program in JavaScript that calls tools, and answers with what the program wrote. Write one where several calls, loops or',
    'large results are needed: only what it writes is read. `await tools.name({ … })` calls a tool; run independent calls together',
    'with Promise.all. A result that is JSON arrives parsed, any other is a text; a call that fails throws. `text(value)` writes a',
    'text, or any other value as JSON: write the smallest result that answers. `await` works at the top level. There are no network,',
    'files, packages or modules, and nothing is kept for the next program.',
  ].join(' '),
  parameters: {
    type: 'object',
    properties: { code: { type: 'string', description: 'The JavaScript code.' } },
    required: ['code'],
    additionalProperties: false,
  },
};

/**
 * Creates a provider for the option `tools`: it serves requests whose `tools` contain `programmatic_tool_calling`. Throws a `TypeError` for
 * a bad option, and an `Error` without `bwrap` or on systems other than Linux, unless `isolation` is `process-only`. The first process
 * starts at once.
 *
 * @example
 * ```ts
 * import { responsesRouter } from 'express-open-responses';
 * import { programs } from 'express-open-responses/code-interpreter';
 *
 * const router = responsesRouter({ tools: programs({ max: 4 }) });
 * ```
 */
export function programs(options: ProgramsOptions = {}): ToolProvider {
  const { runMs, memoryMb, warm, max, isolation: name, warn } = programSettings(options);
  const isolation = resolveIsolation(name);
  const pool = new ProcessPool({
    async start(signal) {
      const launch = await programLaunch(memoryMb, isolation);
      signal.throwIfAborted();
      const limits = { memoryBytes: memoryMb * MIB, answer: ANSWER, startMs: MAX_START_MS };
      const process = sandboxProcess(launch, limits);
      try {
        await untilAborted(signal, () => process.ready);
        return process;
      } catch (error) {
        process.end();
        throw error;
      }
    },
    warm: Math.min(warm, max),
    max,
    onFailure: (error) => warn(`programs: no process could be kept ready: ${error}`),
  });
  return {
    name: PROGRAMS,
    list: () => [TOOL],
    call: () => Promise.reject(new Error('Programs run in requests of the Responses API alone.')),
    programs: {
      async begin({ code, ...about }, signal, tenant = '') {
        const setup = { ...about, maxArgumentBytes: ARGUMENT_BYTES, outputBytes: OUTPUT_CHARACTERS };
        return new SandboxedProgram(await pool.take(signal, limitScope(tenant)), code, JSON.stringify(setup), runMs);
      },
    },
    close: () => pool.close(),
  };
}

/** With every default filled in. Throws a `TypeError` that names the option. */
function programSettings(options: ProgramsOptions) {
  checkOptions('programs', options, {
    limits: isObject,
    warm: wholeNumber(0, MAX_WARM),
    max: positiveInteger,
    isolation: (value) => ISOLATIONS.some((each) => each === value) || "'bubblewrap' or 'process-only'",
    logger: isLogger,
  });
  const { limits = {}, warm = 1, max = 8, isolation = 'bubblewrap', logger } = options;
  checkOptions('programs: limits', limits, {
    runMs: milliseconds,
    memoryMb: wholeNumber(MIN_MEMORY_MB, MAX_MEMORY_MB),
  });
  const { runMs = 10_000, memoryMb = 256 } = limits;
  return { runMs, memoryMb, warm, max, isolation, warn: warner(logger) };
}

/** A program in a process of its own. */
class SandboxedProgram implements RunningProgram {
  private readonly process: SandboxProcess;
  private readonly runMs: number;
  private start: readonly (readonly ['code' | 'name', Buffer])[] | undefined;

  constructor(process: SandboxProcess, code: string, setup: string, runMs: number) {
    this.process = process;
    this.runMs = runMs;
    this.start = [
      ['code', Buffer.from(code)],
      ['name', Buffer.from(setup)],
    ];
  }

  async goOn(results: Parameters<RunningProgram['goOn']>[0], signal: AbortSignal): Promise<ProgramStep> {
    const question = this.start ?? [['data', Buffer.from(JSON.stringify(results))] as const];
    this.start = undefined;
    const { texts, files } = await untilAborted(signal, () => this.process.request(question, this.runMs, signal));
    if (files.length === 0) return { text: texts.result ?? '', error: texts.error };
    return { calls: files.map(({ name, data }) => ({ name, arguments: data.toString('utf8') })) };
  }

  async close(): Promise<void> {
    this.process.end();
    await this.process.gone;
  }
}
