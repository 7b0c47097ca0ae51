/** OpenAI's code interpreter as a tool that this server runs. */

import { containerExpired } from '../../ports/containers/container-errors.ts';
import { checkTerms } from '../../ports/containers/container-terms.ts';
import { readOwnWishes, readWishes } from '../../ports/containers/container-wishes.ts';
import {
  type SharedContainersOptions,
  shareContainers,
  sharedChecks,
} from '../../ports/containers/create-containers.ts';
import { checkOptions, isObject, positiveInteger } from '../../ports/host/options-check.ts';
import type { ProvidedTool, ToolProvider, Workspace } from '../../ports/tool-provider.ts';
import { isRecord } from '../../protocol/record.ts';
import { CODE_INTERPRETER, codeOutputText } from '../../protocol/tool-calls/code-interpreter-call.ts';
import { type OutputLimits, runOutputs } from './run-outputs.ts';
import { pyodideRuntime } from './runtimes/pyodide-runtime.ts';

/**
 * The containers, or what they are made of, and how much of a run's output is returned; `undefined` means omitted. Default of
 * `runtime`: a `pyodideRuntime()` that is closed with the provider.
 */
export interface CodeInterpreterOptions extends SharedContainersOptions {
  /** How much of a run's output is returned. Default: 30,000 characters of logs, and 1 MiB for each image. */
  readonly limits?: { readonly [Name in keyof OutputLimits]?: OutputLimits[Name] | undefined } | undefined;
}

const DEFAULT_LIMITS: OutputLimits = { logCharacters: 30_000, imageBytes: 1024 * 1024 };

const TOOL: ProvidedTool = {
  server: CODE_INTERPRETER,
  name: CODE_INTERPRETER,
  requestedBy: CODE_INTERPRETER,
  description:
    'Runs Python code and answers with what it prints, the value of its last expression, and the names of the files ' +
    'that it writes into its working directory. Variables, imports and files stay for the next call. To give the user such ' +
    'a file, link to it in your answer: [name](sandbox:/mnt/data/name).',
  parameters: {
    type: 'object',
    properties: { code: { type: 'string', description: 'The Python code.' } },
    required: ['code'],
    additionalProperties: false,
  },
};

/**
 * Creates a provider for the option `tools`: it serves requests whose `tools` contain `code_interpreter`.
 * Throws a `TypeError` for a bad option. Without a `runtime` it throws if `pyodideRuntime()` does:
 * without `pyodide`, on Linux without `bwrap`, and on other systems.
 *
 * @example
 * ```ts
 * import { responsesRouter } from 'express-open-responses';
 * import { codeInterpreter, pyodideRuntime } from 'express-open-responses/code-interpreter';
 *
 * const router = responsesRouter({ tools: codeInterpreter({ runtime: pyodideRuntime(), idleMs: 5 * 60_000 }) });
 * ```
 */
export function codeInterpreter(options: CodeInterpreterOptions = {}): ToolProvider {
  // Checked before a runtime starts its processes.
  checkOptions('codeInterpreter', options, { limits: isObject, ...sharedChecks });
  const { limits = {}, ...shared } = options;
  checkOptions('codeInterpreter: limits', limits, { logCharacters: positiveInteger, imageBytes: positiveInteger });
  const { logCharacters = DEFAULT_LIMITS.logCharacters, imageBytes = DEFAULT_LIMITS.imageBytes } = limits;
  const ownRuntime = shared.containers || shared.runtime ? undefined : pyodideRuntime();
  const { containers, close } = shareContainers(
    'codeInterpreter',
    ownRuntime ? { ...shared, runtime: ownRuntime } : shared,
  );
  const workspaces = new WeakSet<Workspace>();

  return {
    name: CODE_INTERPRETER,
    list: () => [TOOL],
    check({ container }, _request, param) {
      const at = `${param}.container.`;
      if (isRecord(container)) checkTerms(containers.runtime, readWishes(container, at), at);
    },
    async hasContainer(key) {
      const container = await containers.find(key);
      if (container?.status === 'expired') throw containerExpired('tools');
      return container !== undefined;
    },
    async call({ scope, workspace, settings, arguments: { code } }, signal) {
      if (!workspace) throw new Error('There is no container for the code.');
      const key = { scope, id: workspace.container };
      const wishes = isRecord(settings?.container) ? readOwnWishes(settings.container) : {};
      const run = await containers.run(key, String(code), workspace.files(), signal, wishes);
      const isStateLost = run.fresh && (workspace.used || workspaces.has(workspace));
      workspaces.add(workspace);
      const outputs = runOutputs(run, isStateLost, { logCharacters, imageBytes });
      const written = run.written.map(({ id, name }) => ({ file_id: id, name }));
      return { content: codeOutputText(outputs), outputs, ...(written.length > 0 ? { written } : {}) };
    },
    async close() {
      await close();
      await ownRuntime?.close();
    },
  };
}
