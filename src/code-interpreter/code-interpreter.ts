/** OpenAI's code interpreter as a tool that this server runs. */
import { outputText } from '../core/code-outputs.ts';
import { checkOptions, positiveInteger } from '../core/options-check.ts';
import { isRecord } from '../core/record.ts';
import { CODE_INTERPRETER } from '../core/tools/names.ts';
import type { ProvidedTool, ToolProvider, Workspace } from '../core/tools/provider.ts';
import type { CodeContainers } from './code-containers.ts';
import { type OutputLimits, runOutputs } from './run-outputs.ts';

/** Where code runs, and how much of what it gives is told. */
export interface CodeInterpreterOptions {
  readonly containers: CodeContainers;
  readonly limits?: { readonly [Name in keyof OutputLimits]?: OutputLimits[Name] | undefined } | undefined;
}

const DEFAULT_LIMITS: OutputLimits = { logCharacters: 30_000, imageBytes: 1024 * 1024 };

const TOOL: ProvidedTool = {
  server: CODE_INTERPRETER,
  name: CODE_INTERPRETER,
  requestedBy: CODE_INTERPRETER,
  description:
    'Runs Python code and answers with what it prints, the value of its last expression, and the names of the files ' +
    'that it writes into its working directory. Variables, imports and files stay for the next call.',
  parameters: {
    type: 'object',
    properties: { code: { type: 'string', description: 'The Python code.' } },
    required: ['code'],
    additionalProperties: false,
  },
};

/**
 * A provider for the option `tools`: it is offered to the model in requests whose `tools` hold `code_interpreter`.
 * Throws a `TypeError` for a bad option. `close` closes the containers.
 */
export function codeInterpreter(options: CodeInterpreterOptions): ToolProvider {
  checkOptions('codeInterpreter', options, {
    containers: (value) => (isRecord(value) && typeof value.run === 'function') || 'an object with run, close',
    limits: (value) => isRecord(value) || 'an object',
  });
  const { containers, limits = {} } = options;
  if (!containers) throw new TypeError('codeInterpreter: containers must be an object with run, close, got undefined');
  checkOptions('codeInterpreter: limits', limits, { logCharacters: positiveInteger, imageBytes: positiveInteger });
  const { logCharacters = DEFAULT_LIMITS.logCharacters, imageBytes = DEFAULT_LIMITS.imageBytes } = limits;

  const begun = new WeakSet<Workspace>();

  return {
    name: CODE_INTERPRETER,
    list: () => [TOOL],
    async call({ scope, workspace, arguments: { code } }, signal) {
      if (!workspace) throw new Error('There is no container for the code.');
      const place = { scope, id: workspace.container };
      const run = await containers.run(place, String(code), workspace.files(), signal);
      const lost = run.fresh && (workspace.used || begun.has(workspace));
      begun.add(workspace);
      const outputs = runOutputs(run, lost, { logCharacters, imageBytes });
      return { content: outputText(outputs), outputs };
    },
    close: () => containers.close(),
  };
}
