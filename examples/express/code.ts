/** The code interpreter and the shell of the example, and the containers in which both run, if they are turned on. */
import type { Api, ToolProvider } from 'express-open-responses';
import { codeInterpreter, pyodideRuntime } from 'express-open-responses/code-interpreter';
import { type Containers, containers, containersApi } from 'express-open-responses/containers';
import type { FileStore } from 'express-open-responses/files';
import { bubblewrapRuntime, shell } from 'express-open-responses/shell';

/** The API of containers, the tools, and what the inspector shows of them. */
export interface OpenCode {
  readonly apis: readonly Api[];
  readonly tools: readonly ToolProvider[];
  readonly containers: readonly Containers[];
  /** Ends the processes of code and commands. */
  close(): Promise<void>;
}

/** Opens them over uploaded files. Throws where nothing can run in a sandbox. */
export function openCode(isOn: boolean, files: FileStore): OpenCode {
  if (!isOn) return { apis: [], tools: [], containers: [], close: async () => {} };
  const pyodide = pyodideRuntime();
  const bubblewrap = bubblewrapRuntime();
  // One storage: Python and commands find the same containers and files.
  const python = containers({ runtime: pyodide, storage: files });
  const commands = containers({ runtime: bubblewrap, storage: files });
  return {
    apis: [containersApi({ containers: python, files })],
    tools: [codeInterpreter({ containers: python }), shell({ containers: commands })],
    containers: [python, commands],
    async close() {
      await Promise.all([python.close(), commands.close()]);
      await Promise.all([pyodide.close(), bubblewrap.close()]);
    },
  };
}
