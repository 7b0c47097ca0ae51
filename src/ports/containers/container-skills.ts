/** The port to the skills that a client wants in a container. */
import type { JsonObject } from '../../protocol/record.ts';
import type { CodeFile } from '../hosted-tools/code-runtime.ts';

/** Finds skills, and makes files of them. */
export interface ContainerSkills {
  /**
   * The files of the skills that a request names, in OpenAI's words (`skill_reference`, `inline`), by their paths below the working
   * directory. Throws an `ApiError` for one that is not the tenant's, or is no skill.
   */
  filesFor(skills: readonly JsonObject[], scope: string, signal: AbortSignal): Promise<readonly CodeFile[]>;
}
