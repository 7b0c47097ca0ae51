/** The code interpreter of the example and the containers in which it runs, if it is turned on. */
import type { Api, ToolProvider } from 'express-open-responses';
import { codeInterpreter, pyodideRuntime } from 'express-open-responses/code-interpreter';
import { type Containers, containers, containersApi } from 'express-open-responses/containers';
import type { FileStore } from 'express-open-responses/files';

/** The API of containers, the tool, and what the inspector shows of both. */
export interface OpenCode {
  readonly apis: readonly Api[];
  readonly tools: readonly ToolProvider[];
  readonly containers: Containers | undefined;
  /** Ends the processes of the code. */
  close(): Promise<void>;
}

/** Opens them over uploaded files. Throws where Python cannot run in a sandbox. */
export function openCode(isOn: boolean, files: FileStore): OpenCode {
  if (!isOn) return { apis: [], tools: [], containers: undefined, close: async () => {} };
  const runtime = pyodideRuntime();
  const shared = containers({ runtime });
  return {
    apis: [containersApi({ containers: shared, files })],
    tools: [codeInterpreter({ containers: shared })],
    containers: shared,
    async close() {
      await shared.close();
      await runtime.close();
    },
  };
}
