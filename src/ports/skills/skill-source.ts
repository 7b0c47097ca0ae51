/** The port to skills that a request names or brings, for the containers that they are mounted into. */
import { withMethods } from '../host/options-check.ts';
import type { MaybePromise } from '../store.ts';

/** A file of a skill. */
export interface SkillFile {
  /** Below the skill's folder, `/` between the parts, such as `scripts/sum.py`; never above it. */
  readonly path: string;
  /** The content. */
  readonly data: Uint8Array;
}

/** A folder with instructions, and with what they name. */
export interface Skill {
  /** As its `SKILL.md` names it. */
  readonly name: string;
  /** When a model needs it, for the model. */
  readonly description: string;
  /** All of them, `SKILL.md` included. */
  readonly files: readonly SkillFile[];
}

/** A skill by its id. */
export interface SkillReference {
  /** The tenant: the skills of others are unknown. */
  readonly scope: string;
  /** Such as `skill_…`. */
  readonly id: string;
  /** A number, or `latest`. Default: the version that its owner has made the default. */
  readonly version?: string | undefined;
}

/** Finds and reads skills. */
export interface SkillSource {
  /** The skill. Throws an `ApiError` (`skill_not_found`, naming `param`) for one that the tenant does not have. */
  find(reference: SkillReference, param: string): MaybePromise<Skill>;
  /** The skill in a zip that a request brings. Throws an `ApiError` (`invalid_skill`, naming `param`). */
  read(zip: Uint8Array, param: string): MaybePromise<Skill>;
}

/** Whether the value finds and reads skills. */
export const isSkillSource = withMethods('find', 'read');
