/** The shell: a tool that runs the commands that models write in a container; it needs the program `bwrap`, or Docker or Podman. */

export {
  type ContainersOptions,
  containers,
  type SharedContainersOptions,
} from '../../ports/containers/create-containers.ts';
export type { CodeRuntime, CommandRun, ContainerCommand } from '../../ports/hosted-tools/code-runtime.ts';
export type { Skill, SkillFile, SkillReference, SkillSource } from '../../ports/skills/skill-source.ts';
export type { ToolProvider } from '../../ports/tool-provider.ts';
export type { ResolveHost } from '../egress/check-address.ts';
export type { EgressRule } from '../egress/rules.ts';
export { type BubblewrapRuntimeOptions, bubblewrapRuntime, type ShellLimits } from './bubblewrap-runtime.ts';
export type { ShellNetwork } from './network/shell-network.ts';
export { type ShellCallLimits, type ShellOptions, shell } from './shell.ts';
