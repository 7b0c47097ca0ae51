/** The endpoints of the Skills API as functions from a request to a reply, for any framework. */

import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { listResource, pageQuery, selectPage } from '../../engine/request/item-pages.ts';
import { inOnePiece } from '../../ports/files/content.ts';
import { DEFAULT_LIMITS } from '../../ports/limits.ts';
import { requireTenant } from '../../ports/scope.ts';
import type { Skill } from '../../ports/skills/skill-source.ts';
import { ApiError } from '../../protocol/errors.ts';
import { newObjectId, quoteId } from '../../protocol/ids.ts';
import { bodyFields } from '../../protocol/json/json-shape.ts';
import { lazily } from '../../protocol/json/lazy-schema.ts';
import { type JsonReply, jsonReply, type Reply } from '../../protocol/reply.ts';
import { invalid, invalidField } from '../../protocol/responses/invalid.ts';
import { endpointFor, type Handler, reportError } from '../endpoint/endpoint.ts';
import { contentReply } from '../endpoint/forms/content.ts';
import { notForAnthropic } from '../endpoint/models.ts';
import type { Route } from '../endpoint/routes.ts';
import { receiveSkill, SKILL_PARAM } from './receive-skill.ts';
import { skillResource, versionIn, versionResource } from './resources.ts';
import type { SkillsSettings } from './settings.ts';
import { type SkillVersion, type StoredSkill, skillNotFound } from './skill-records.ts';

/** The body of `POST /skills/{id}`. */
export const updateSchema = lazily((z) => z.object({ default_version: z.string() }));

/** The routes over these settings. */
export function skillRoutes(settings: SkillsSettings): readonly Route[] {
  const endpoints = new SkillEndpoints(settings);
  const on = (handler: Handler) => notForAnthropic(endpointFor(handler, settings), settings);
  const version = '/skills/:id/versions/:version';
  return [
    { method: 'POST', path: '/skills', endpoint: on((request) => endpoints.create(request)), readsBytes: true },
    { method: 'GET', path: '/skills', endpoint: on((request) => endpoints.list(request)) },
    { method: 'GET', path: '/skills/:id', endpoint: on((request) => endpoints.retrieve(request)) },
    { method: 'POST', path: '/skills/:id', endpoint: on((request) => endpoints.update(request)) },
    { method: 'DELETE', path: '/skills/:id', endpoint: on((request) => endpoints.remove(request)) },
    { method: 'GET', path: '/skills/:id/content', endpoint: on((request) => endpoints.content(request)) },
    {
      method: 'POST',
      path: '/skills/:id/versions',
      endpoint: on((request) => endpoints.createVersion(request)),
      readsBytes: true,
    },
    { method: 'GET', path: '/skills/:id/versions', endpoint: on((request) => endpoints.listVersions(request)) },
    { method: 'GET', path: version, endpoint: on((request) => endpoints.retrieveVersion(request)) },
    { method: 'DELETE', path: version, endpoint: on((request) => endpoints.removeVersion(request)) },
    { method: 'GET', path: `${version}/content`, endpoint: on((request) => endpoints.content(request)) },
  ];
}

class SkillEndpoints {
  private readonly settings: SkillsSettings;

  constructor(settings: SkillsSettings) {
    this.settings = settings;
  }

  async create(request: EndpointRequest): Promise<JsonReply> {
    requireTenant(request.scope, 'A skill', null);
    const { skill } = await receiveSkill(request, this.settings);
    return this.withZip(request, skill, 1, async (version) =>
      jsonReply(skillResource(await this.settings.records.create(request.scope, version))),
    );
  }

  async list({ scope, query }: EndpointRequest): Promise<JsonReply> {
    const { records } = this.settings;
    const ids = (await records.all(scope)).map((id) => ({ type: 'skill', id }));
    const page = selectPage(ids, pageQuery(query));
    if (page.unknown) throw skillNotFound(query[page.unknown], page.unknown);
    const found = await Promise.all(page.items.map(({ id }) => records.find({ scope, id: String(id) })));
    const skills = found.filter((skill) => skill !== undefined);
    return jsonReply(listResource(skills.map(skillResource), page.hasMore));
  }

  async retrieve(request: EndpointRequest): Promise<JsonReply> {
    return jsonReply(skillResource(await this.find(request)));
  }

  async update(request: EndpointRequest): Promise<JsonReply> {
    const fields = bodyFields(request.body, DEFAULT_LIMITS);
    const { data, error } = updateSchema().safeParse(fields);
    if (error) throw invalid(error.issues, fields);
    const { default_version: wanted } = data;
    const { scope, id } = await this.key(request);
    const changed = await this.settings.records.change({ scope, id }, (skill) => ({
      ...skill,
      defaultVersion: versionIn(skill, wanted, 'default_version').version,
    }));
    // The cast: only a deletion leaves nothing.
    return jsonReply(skillResource(changed as StoredSkill));
  }

  async remove(request: EndpointRequest): Promise<JsonReply> {
    const { scope, id } = await this.key(request);
    let fileIds: readonly string[] = [];
    await this.settings.records.change({ scope, id }, ({ versions }) => {
      fileIds = versions.map(({ fileId }) => fileId);
      return undefined;
    });
    await this.settings.records.deleteZips(scope, fileIds);
    return jsonReply({ id, object: 'skill.deleted', deleted: true });
  }

  async createVersion(request: EndpointRequest): Promise<JsonReply> {
    const { scope, id } = await this.key(request);
    const { skill, fields } = await receiveSkill(request, this.settings);
    const isDefault = booleanField(fields.get('default'));
    return this.withZip(request, skill, 0, async (unnumbered) => {
      let made = unnumbered;
      await this.settings.records.change({ scope, id }, (stored) => {
        const { versions, nextVersion } = stored;
        const most = this.settings.skillLimits.versions;
        if (versions.length >= most) {
          const message = `The skill has ${most} versions, as many as this server keeps. Delete some first.`;
          throw new ApiError('skill_quota_exceeded', message, { param: SKILL_PARAM });
        }
        made = { ...unnumbered, version: nextVersion };
        const next = { ...stored, nextVersion: nextVersion + 1, versions: [...versions, made] };
        return isDefault ? { ...next, defaultVersion: nextVersion } : next;
      });
      return jsonReply(versionResource(id, made));
    });
  }

  async listVersions(request: EndpointRequest): Promise<JsonReply> {
    const skill = await this.find(request);
    const items = skill.versions.map(({ id }) => ({ type: 'skill.version', id }));
    const page = selectPage(items, pageQuery(request.query));
    if (page.unknown) throw skillNotFound(request.query[page.unknown], page.unknown);
    const byId = new Map(skill.versions.map((version) => [version.id, version]));
    const versions = page.items.map(({ id }) => byId.get(String(id))).filter((version) => version !== undefined);
    return jsonReply(
      listResource(
        versions.map((version) => versionResource(skill.id, version)),
        page.hasMore,
      ),
    );
  }

  async retrieveVersion(request: EndpointRequest): Promise<JsonReply> {
    const skill = await this.find(request);
    return jsonReply(versionResource(skill.id, versionIn(skill, String(request.params.version), 'version')));
  }

  async removeVersion(request: EndpointRequest): Promise<JsonReply> {
    const { scope, id } = await this.key(request);
    const wanted = String(request.params.version);
    let removed = versionIn(await this.find(request), wanted, 'version');
    await this.settings.records.change({ scope, id }, (skill) => {
      removed = versionIn(skill, wanted, 'version');
      if (removed.version === skill.defaultVersion) {
        const remedy = 'Make another version the default first, or delete the skill';
        throw invalidField('version', `${quoteId(String(removed.version))} is the default version. ${remedy}`);
      }
      return { ...skill, versions: skill.versions.filter(({ id: other }) => other !== removed.id) };
    });
    const { id: versionId, version, fileId } = removed;
    await this.settings.records.deleteZips(scope, [fileId]);
    return jsonReply({ id: versionId, object: 'skill.version.deleted', deleted: true, version: String(version) });
  }

  async content(request: EndpointRequest): Promise<Reply> {
    const { records } = this.settings;
    const skill = await this.find(request);
    const wanted = request.params.version;
    const { fileId, name, version } = versionIn(skill, wanted === undefined ? undefined : String(wanted), 'version');
    const file = await records.zipFile(request.scope, fileId);
    const bytes = file && (await records.read(file));
    if (!bytes) throw skillNotFound(skill.id, 'skill_id');
    const reply = contentReply(
      { filename: `${name}-${version}.zip`, bytes: file.bytes, etag: file.id },
      undefined,
      inOnePiece(bytes),
    );
    return { ...reply, headers: { ...reply.headers, 'content-type': 'application/zip' } };
  }

  private async key({ scope, params }: EndpointRequest): Promise<{ readonly scope: string; readonly id: string }> {
    const { id } = await this.settings.records.require({ scope, id: String(params.id) });
    return { scope, id };
  }

  private find({ scope, params }: EndpointRequest): Promise<StoredSkill> {
    return this.settings.records.require({ scope, id: String(params.id) });
  }

  /** Stores the zip of the skill for what `store` stores of it, and removes it where that fails. */
  private async withZip(
    request: EndpointRequest,
    { name, description, files }: Skill,
    version: number,
    store: (version: SkillVersion) => Promise<JsonReply>,
  ): Promise<JsonReply> {
    const { records, bundles } = this.settings;
    const { scope } = request;
    const fileId = await records.putZip(scope, await bundles.pack(files));
    const id = newObjectId('skillVersion');
    try {
      return await store({ id, version, createdAt: Date.now(), name, description, fileId });
    } catch (error) {
      await records.deleteZips(scope, [fileId]).catch((failure) => reportError(failure, request, this.settings));
      throw error;
    }
  }
}

/** Throws `invalid_value`. */
function booleanField(value: string | undefined): boolean {
  if (value === undefined || value === 'false') return false;
  if (value === 'true') return true;
  throw invalidField('default', "supported values are: 'true', 'false'");
}
