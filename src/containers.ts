/** OpenAI's containers: the router, and the object that code interpreter and shell share with it. */
export { type ContainersApiOptions, containersApi } from './apis/containers/containers-api.ts';
export type { Api, ApiStatus } from './apis/endpoint/api.ts';
export type { DrainOptions } from './engine/request/activity.ts';
export {
  type ContainersRouter,
  type ContainersRouterOptions,
  containersRouter,
} from './hosts/express/containers-router.ts';
export type { Scope } from './hosts/express/handle.ts';
export type { HostRequest } from './hosts/express/host-request.ts';
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
} from './ports/containers/container.ts';
export type { ContainerBounds, ContainerQuota } from './ports/containers/container-bounds.ts';
export type { ContainerSkills } from './ports/containers/container-skills.ts';
export type {
  Containers,
  ContainersCommandRun,
  ContainersRun,
  ContainersUsage,
  ContainerUse,
  ContainerWishes,
  UsedContainer,
} from './ports/containers/containers.ts';
export {
  type ContainersOptions,
  containers,
  type SharedContainersOptions,
} from './ports/containers/create-containers.ts';
export type { ByteRange, FileStore, FileUsage } from './ports/files/file-store.ts';
export type { Hooks } from './ports/hooks.ts';
export type { LogFields, Logger } from './ports/host/logger.ts';
export {
  type CodeContainer,
  type CodeFile,
  type CodeRun,
  type CodeRuntime,
  type CommandRun,
  type ContainerCommand,
  ContainerLostError,
  type ContainerTerms,
} from './ports/hosted-tools/code-runtime.ts';
export type { MaybePromise, ResponseKey } from './ports/store.ts';
