/** The code interpreter: a tool that runs the Python that models write; the Pyodide runtime needs the package `pyodide`, the other Docker or Podman. And programs: JavaScript that models write, and that calls the request's tools. */

export type {
  Container,
  ContainerFile,
  ContainerFileSource,
  ContainerKey,
  ContainerRecord,
  MemoryLimit,
  NetworkPolicy,
  NewContainer,
  NewContainerFile,
} from '../../ports/containers/container.ts';
export type { ContainerBounds, ContainerQuota } from '../../ports/containers/container-bounds.ts';
export type {
  Containers,
  ContainersCommandRun,
  ContainersRun,
  ContainersUsage,
  ContainerUse,
  ContainerWishes,
  UsedContainer,
} from '../../ports/containers/containers.ts';
export {
  type ContainersOptions,
  containers,
  type SharedContainersOptions,
} from '../../ports/containers/create-containers.ts';
export type { ByteRange, FileStore, FileUsage } from '../../ports/files/file-store.ts';
export {
  type CodeContainer,
  type CodeFile,
  type CodeRun,
  type CodeRuntime,
  type CommandRun,
  type ContainerCommand,
  ContainerLostError,
  type ContainerTerms,
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
export { type ProgramLimits, type ProgramsOptions, programs } from './programs/programs.ts';
export type { OutputLimits } from './run-outputs.ts';
export { containerRuntime } from './runtimes/container-runtime.ts';
export type { ContainerLimits, ContainerRuntimeOptions } from './runtimes/container-settings.ts';
export { pyodideRuntime } from './runtimes/pyodide-runtime.ts';
export type { IsolationName } from './sandbox/isolation.ts';
export type { PyodideLimits, PyodideRuntimeOptions } from './sandbox/pyodide-settings.ts';
