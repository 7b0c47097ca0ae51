/** Makes the skills of a host out of a store of files. */

import type { ContainerSkills } from '../../ports/containers/container-skills.ts';
import { type FileStore, isFileStore } from '../../ports/files/file-store.ts';
import { answersInTime } from '../../ports/host/answers-in-time.ts';
import { checkOptions, isObject } from '../../ports/host/options-check.ts';
import { skillBundles, skillIn } from '../../ports/skills/bundle.ts';
import { mountedSkills } from '../../ports/skills/mounted-skills.ts';
import type { SkillSource } from '../../ports/skills/skill-source.ts';
import type { Api } from '../endpoint/api.ts';
import { formParser } from '../endpoint/forms/multipart.ts';
import { UploadSlots } from '../endpoint/forms/upload-slots.ts';
import { skillRoutes } from './endpoints.ts';
import { type SkillQuota, skillLimits } from './limits.ts';
import { versionIn } from './resources.ts';
import { SkillRecords, skillNotFound } from './skill-records.ts';

/** What skills are made of; `undefined` means omitted. */
export interface SkillsStoreOptions {
  /** Where skills are kept: `diskFiles`, `sqliteFiles`, or another store of files. The Files API lists none of them. */
  readonly files: FileStore;
  /** What a tenant may keep, and a skill may hold. Default: those of `SkillQuota`. */
  readonly quota?: SkillQuota | undefined;
}

/** Made by `createSkills`; the same object serves the API and the containers that skills are mounted into, of tools and of `/containers`. */
export interface Skills extends SkillSource, ContainerSkills {
  /** `/skills` with their versions and content, for the option `apis` of `openResponses`. */
  readonly api: Api;
}

/**
 * The skills that clients upload, for `openResponses` by their `api`, for `skillsRouter`, and for the tools whose requests name
 * them. Needs the packages `@fastify/busboy`, `yauzl` and `yazl`. Throws a `TypeError` for a bad option, and an `Error` if a package
 * is missing.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { openResponses } from 'express-open-responses';
 * import { diskFiles } from 'express-open-responses/files';
 * import { createSkills } from 'express-open-responses/skills';
 *
 * const skills = createSkills({ files: diskFiles({ folder: '/var/lib/my-app/files' }) });
 * const api = openResponses({ apis: [skills.api] });
 * express().use('/v1', api.router).listen(3000);
 * ```
 */
export function createSkills(options: SkillsStoreOptions): Skills {
  const owner = 'createSkills';
  checkOptions(owner, options, { files: isFileStore, quota: isObject });
  const { files, quota } = options;
  if (files === undefined) throw new TypeError(`${owner}: files is required, got undefined`);
  const limits = skillLimits(owner, quota);
  const records = new SkillRecords(files, limits);
  const bundles = skillBundles(owner, limits.bundle);
  const parser = formParser(owner, limits.forms, { files: limits.bundle.files, preservePath: true });
  const isAlive = answersInTime(() => files.usage('express-open-responses:status'));
  const source: SkillSource = {
    async find({ scope, id, version }, param) {
      const skill = await records.require({ scope, id }, param);
      const { fileId } = versionIn(skill, version, `${param.replace(/\.skill_id$/, '')}.version`);
      const file = await records.zipFile(scope, fileId);
      const zip = file && (await records.read(file));
      if (!zip) throw skillNotFound(id, param);
      return skillIn(await bundles.unpack(zip, param), limits.bundle, param);
    },
    read: async (zip, param) => skillIn(await bundles.unpack(zip, param), limits.bundle, param),
  };
  return {
    ...source,
    filesFor: async (skills, scope) =>
      (await mountedSkills(skills, source, scope, 'skills')).flatMap(({ files: mounted }) => mounted),
    api: {
      name: 'skills',
      open(host) {
        const slots = new UploadSlots(limits.forms);
        const settings = { ...host, records, bundles, skillLimits: limits, formParser: parser, slots };
        return {
          routes: skillRoutes(settings),
          describe: async () => [(await import('./description.ts')).describeSkills()],
          drain: slots.drain,
          status: async () => ({ ok: await isAlive(), kind: files.name, uploads: slots.running }),
        };
      },
    },
  };
}

/** Whether the value was made by `createSkills`. */
export const areSkills = (value: unknown): true | string =>
  (Object(value).api?.name === 'skills' && typeof Object(value).find === 'function') || 'made by createSkills()';
