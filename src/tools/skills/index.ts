/** Skills: folders with instructions that the model reads when a task needs them. */
export { type SkillsOptions, skills } from './skills.ts';
