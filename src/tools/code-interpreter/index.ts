/** The code interpreter: a tool that runs the Python that models write; the Pyodide runtime needs the package `pyodide`, the other Docker or Podman. And programs: JavaScript that models write, and that calls the request's tools. */

export {
  type CodeContainer,
  type CodeFile,
  type CodeRun,
  type CodeRuntime,
  ContainerLostError,
  type LostReason,
} from '../../ports/hosted-tools/code-runtime.ts';
export type {
  ProgramCall,
  ProgramCallResult,
  ProgramRuntime,
  ProgramStart,
  ProgramStep,
  RunningProgram,
} from '../../ports/programs/program-runtime.ts';
export { type CodeInterpreterOptions, codeInterpreter } from './code-interpreter.ts';
export type { ContainerKey } from './container-slots.ts';
export { type CodeContainers, type ContainersOptions, type ContainersRun, containers } from './containers.ts';
export { type ProgramLimits, type ProgramsOptions, programs } from './programs/programs.ts';
export type { OutputLimits } from './run-outputs.ts';
export { containerRuntime } from './runtimes/container-runtime.ts';
export type { ContainerLimits, ContainerRuntimeOptions } from './runtimes/container-settings.ts';
export { pyodideRuntime } from './runtimes/pyodide-runtime.ts';
export type { IsolationName } from './sandbox/isolation.ts';
export type { PyodideLimits, PyodideRuntimeOptions } from './sandbox/pyodide-settings.ts';
