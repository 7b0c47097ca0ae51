/** The skills that a request wants in a container. */

import { ApiError } from '../../protocol/errors.ts';
import { isRecord } from '../../protocol/record.ts';
import { invalidField, refuseLong } from '../../protocol/responses/invalid.ts';
import { CONTAINER_FOLDER, SKILLS_FOLDER } from '../containers/container.ts';
import type { CodeFile } from '../hosted-tools/code-runtime.ts';
import type { Skill, SkillSource } from './skill-source.ts';

/** A skill in its folder. */
export interface MountedSkill {
  /** What the model is told of it. */
  readonly about: { readonly name: string; readonly description: string; readonly path: string };
  /** Below the working directory. */
  readonly files: readonly CodeFile[];
}

const MAX_SKILLS = 16;

/** In OpenAI's words; `param` is their place. Throws an `ApiError` for a skill that the tenant does not have, or that is none. */
export async function mountedSkills(
  skills: unknown,
  source: SkillSource | undefined,
  scope: string,
  param: string,
): Promise<readonly MountedSkill[]> {
  if (skills === undefined || skills === null) return [];
  if (!Array.isArray(skills)) throw invalidField(param, 'expected a list');
  refuseLong(param, skills.length, MAX_SKILLS);
  if (skills.length > 0 && !source)
    throw new ApiError('unsupported_parameter', 'This server has no skills for containers.', { param });
  const taken = new Set<string>();
  const mounted: MountedSkill[] = [];
  for (const [index, entry] of skills.entries()) {
    // The cast: without a source there are none.
    const skill = await readSkill(entry, source as SkillSource, scope, `${param}[${index}]`);
    const folder = `${SKILLS_FOLDER}/${freeName(skill.name, taken)}`;
    mounted.push({
      about: { name: skill.name, description: skill.description, path: `${CONTAINER_FOLDER}/${folder}` },
      files: skill.files.map(({ path, data }) => ({ name: `${folder}/${path}`, data })),
    });
  }
  return mounted;
}

async function readSkill(entry: unknown, source: SkillSource, scope: string, param: string): Promise<Skill> {
  if (isRecord(entry) && entry.type === 'skill_reference') {
    const { skill_id: id, version } = entry;
    if (typeof id !== 'string') throw invalidField(`${param}.skill_id`, 'expected a text');
    if (version !== undefined && version !== null && typeof version !== 'string')
      throw invalidField(`${param}.version`, 'expected a text such as "2"');
    return source.find({ scope, id, version: version ?? undefined }, `${param}.skill_id`);
  }
  if (!isRecord(entry) || entry.type !== 'inline' || !isRecord(entry.source) || typeof entry.source.data !== 'string')
    throw invalidField(param, "expected a 'skill_reference', or an 'inline' skill with a zip in base64");
  return source.read(Buffer.from(entry.source.data, 'base64'), `${param}.source.data`);
}

/** A name of a folder that needs no quotes in a shell. */
function freeName(name: string, taken: Set<string>): string {
  const plain =
    name
      .toLowerCase()
      .replace(/[^a-z0-9_-]/g, '-')
      .replace(/^-/, '_') || 'skill';
  let free = plain;
  for (let copy = 2; taken.has(free); copy += 1) free = `${plain}-${copy}`;
  taken.add(free);
  return free;
}
