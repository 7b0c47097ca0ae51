/** What the OpenAPI document says of skills. */

import { toJsonSchema } from '../../protocol/json/json-schema.ts';
import type { ApiDescription } from '../endpoint/operation.ts';
import * as shape from '../endpoint/shape.ts';
import { updateSchema } from './endpoints.ts';

/** The operations of `skillRoutes`. */
export function describeSkills(): ApiDescription {
  const [skill, version] = [shape.ref('Skill'), shape.ref('SkillVersion')];
  const files = { ...shape.listOf(shape.bytes), description: 'The files of one folder, or one zip of it.' };
  const form = (optional: Parameters<typeof shape.objectWith>[1] = {}) =>
    ({ type: 'multipart/form-data', schema: shape.objectWith({ files }, optional) }) as const;
  const zip = { answer: shape.bytes, answerType: 'application/zip' };
  return {
    tag: 'Skills',
    summary: 'Skills, which requests mount into containers, and their versions.',
    operations: {
      'POST /skills': { id: 'createSkill', summary: 'Uploads a skill', body: form(), answer: skill },
      'GET /skills': {
        id: 'listSkills',
        summary: 'Lists the skills',
        query: shape.PAGE_QUERY,
        answer: shape.pageOf(skill),
      },
      'GET /skills/:id': { id: 'retrieveSkill', summary: 'Describes a skill', answer: skill },
      'POST /skills/:id': {
        id: 'updateSkill',
        summary: 'Makes another version the default',
        body: { schema: toJsonSchema(updateSchema()) },
        answer: skill,
      },
      'DELETE /skills/:id': {
        id: 'deleteSkill',
        summary: 'Deletes a skill with all its versions',
        answer: shape.deletion('skill.deleted'),
      },
      'GET /skills/:id/content': { id: 'downloadSkill', summary: 'Downloads the default version', ...zip },
      'POST /skills/:id/versions': {
        id: 'createSkillVersion',
        summary: 'Uploads a further version',
        body: form({ default: shape.oneOf('true', 'false') }),
        answer: version,
      },
      'GET /skills/:id/versions': {
        id: 'listSkillVersions',
        summary: 'Lists the versions',
        query: shape.PAGE_QUERY,
        answer: shape.pageOf(version),
      },
      'GET /skills/:id/versions/:version': {
        id: 'retrieveSkillVersion',
        summary: 'Describes a version, by its number or `latest`',
        answer: version,
      },
      'DELETE /skills/:id/versions/:version': {
        id: 'deleteSkillVersion',
        summary: 'Deletes a version that is not the default',
        answer: shape.objectWith({
          ...{ object: { const: 'skill.version.deleted' }, id: shape.text },
          ...{ deleted: { const: true }, version: shape.text },
        }),
      },
      'GET /skills/:id/versions/:version/content': {
        id: 'downloadSkillVersion',
        summary: 'Downloads a version',
        ...zip,
      },
    },
    schemas: {
      Skill: shape.resource('skill', {
        ...{ id: shape.text, created_at: shape.seconds, name: shape.text, description: shape.text },
        ...{ default_version: shape.text, latest_version: shape.text },
      }),
      SkillVersion: shape.resource('skill.version', {
        ...{ id: shape.text, created_at: shape.seconds, skill_id: shape.text, version: shape.text },
        ...{ name: shape.text, description: shape.text },
      }),
    },
  };
}
