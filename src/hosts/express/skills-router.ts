/** The Skills API as an Express router. */
import type { Request, Router } from 'express';
import { areSkills, type Skills } from '../../apis/skills/create-skills.ts';
import { checkOptions, isFunction } from '../../ports/host/options-check.ts';
import { type PlainOptions, plainChecks } from '../../server/options/plain-api.ts';
import type { HostRequest } from './host-request.ts';
import { partOptions, plainRouter } from './plain-router.ts';

/** The skills and the tenant; `undefined` means omitted. */
export interface SkillsRouterOptions<Req extends Request = HostRequest> extends PlainOptions {
  /** Made by `createSkills`, which has the quota. */
  readonly skills: Skills;
  /** The tenant of a request, as for `responsesRouter`, which must have the same. Default: a digest of the API key. */
  readonly scope?: ((req: Req) => string) | undefined;
}

/**
 * `/skills` with their versions and content, to be mounted at any path. Throws a `TypeError` for an unknown option or a bad value.
 * Beside other APIs, `openResponses` with `skills.api` needs `scope` once.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { diskFiles } from 'express-open-responses/files';
 * import { createSkills, skillsRouter } from 'express-open-responses/skills';
 *
 * const skills = createSkills({ files: diskFiles({ folder: '/var/lib/my-app/files' }) });
 * express().use('/v1', skillsRouter({ skills })).listen(3000);
 * ```
 */
export function skillsRouter<Req extends Request = HostRequest>(options: SkillsRouterOptions<Req>): Router {
  const owner = 'skillsRouter';
  checkOptions(owner, options, { skills: areSkills, ...plainChecks, scope: isFunction });
  const { plain, own } = partOptions(options);
  const { skills } = own;
  if (skills === undefined) throw new TypeError(`${owner}: skills is missing, got undefined`);
  return plainRouter(owner, skills.api, plain).router;
}
