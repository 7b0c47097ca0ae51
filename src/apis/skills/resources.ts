/** Skills as clients see them. */
import type { JsonObject } from '../../protocol/record.ts';
import { unixSeconds } from '../../protocol/reply.ts';
import type { SkillVersion, StoredSkill } from './skill-records.ts';
import { skillNotFound } from './skill-records.ts';

/** OpenAI's skill object: its name and description are those of its default version. */
export function skillResource(skill: StoredSkill): JsonObject {
  const { id, createdAt, defaultVersion, versions } = skill;
  const { name, description } = versionIn(skill, undefined, 'version');
  return {
    ...{ id, object: 'skill', created_at: unixSeconds(createdAt) },
    ...{ default_version: String(defaultVersion), latest_version: String(versions.at(-1)?.version) },
    ...{ name, description },
  };
}

/** OpenAI's object of a version. */
export function versionResource(
  skillId: string,
  { id, version, createdAt, name, description }: SkillVersion,
): JsonObject {
  const created_at = unixSeconds(createdAt);
  return { id, object: 'skill.version', created_at, skill_id: skillId, version: String(version), name, description };
}

/** The version of this number or `latest`, by default the default one. Throws `skill_not_found`, naming `param`. */
export function versionIn(
  { defaultVersion, versions }: StoredSkill,
  wanted: string | undefined,
  param: string,
): SkillVersion {
  const number = wanted === undefined ? String(defaultVersion) : wanted;
  const version = number === 'latest' ? versions.at(-1) : versions.find((each) => String(each.version) === number);
  if (!version) throw skillNotFound(wanted, param);
  return version;
}
