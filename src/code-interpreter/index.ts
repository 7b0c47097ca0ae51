/** The code interpreter: a tool that runs the Python code that models write. */
export type { CodeContainers, CodePlace, ContainerRun } from './code-containers.ts';
export { type CodeInterpreterOptions, codeInterpreter } from './code-interpreter.ts';
export {
  type CodeContainer,
  type CodeFile,
  type CodeRun,
  type CodeRuntime,
  ContainerLostError,
  type LostReason,
} from './runtime.ts';
