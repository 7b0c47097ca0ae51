/** Skills: folders with instructions that a model reads when a task needs them; the host's as tools, and those that clients upload. */
export type { Api, ApiStatus } from './apis/endpoint/api.ts';
export { createSkills, type Skills, type SkillsStoreOptions } from './apis/skills/create-skills.ts';
export type { SkillQuota } from './apis/skills/limits.ts';
export type { Scope } from './hosts/express/handle.ts';
export type { HostRequest } from './hosts/express/host-request.ts';
export { type SkillsRouterOptions, skillsRouter } from './hosts/express/skills-router.ts';
export type { ContainerSkills } from './ports/containers/container-skills.ts';
export type { FileStore } from './ports/files/file-store.ts';
export type { Hooks } from './ports/hooks.ts';
export type { LogFields, Logger } from './ports/host/logger.ts';
export type { CodeRuntime } from './ports/hosted-tools/code-runtime.ts';
export type { Skill, SkillFile, SkillReference, SkillSource } from './ports/skills/skill-source.ts';
export type { ToolProvider } from './ports/tool-provider.ts';
export { type SkillsOptions, skills } from './tools/skills/skills.ts';
