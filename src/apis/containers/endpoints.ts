/** The endpoints of containers as functions from a request to a reply, for any framework. */
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { listResource, pageQuery, selectPage } from '../../engine/request/item-pages.ts';
import type { Container } from '../../ports/containers/container.ts';
import { containerNotFound } from '../../ports/containers/container-errors.ts';
import { inOnePiece } from '../../ports/files/content.ts';
import { ApiError } from '../../protocol/errors.ts';
import { type JsonReply, jsonReply } from '../../protocol/reply.ts';
import { endpointFor, type Handler } from '../endpoint/endpoint.ts';
import type { UploadSlots } from '../endpoint/forms/upload-slots.ts';
import type { Route } from '../endpoint/routes.ts';
import { readNewContainer } from './bodies.ts';
import { containerIn, containerKey } from './container-in.ts';
import { ContainerFileEndpoints } from './file-endpoints.ts';
import { containerResource } from './resources.ts';
import type { ContainersSettings } from './settings.ts';
import { uploadedContent, uploadedFiles } from './uploaded-files.ts';

/** The routes over these settings; `slots` count their uploads. */
export function containerRoutes(settings: ContainersSettings, slots: UploadSlots): readonly Route[] {
  const containers = new ContainerEndpoints(settings);
  const files = new ContainerFileEndpoints(settings, slots);
  const on = (method: Route['method'], path: string, run: Handler): Route => ({
    method,
    path: `/containers${path}`,
    endpoint: endpointFor(run, settings),
  });
  return [
    on('POST', '', (request) => containers.create(request)),
    on('GET', '', (request) => containers.list(request)),
    on('GET', '/:id', (request) => containers.retrieve(request)),
    on('DELETE', '/:id', (request) => containers.remove(request)),
    { ...on('POST', '/:id/files', (request) => files.create(request)), readsBytes: true },
    on('GET', '/:id/files', (request) => files.list(request)),
    on('GET', '/:id/files/:file', (request) => files.retrieve(request)),
    on('GET', '/:id/files/:file/content', (request) => files.content(request)),
    on('DELETE', '/:id/files/:file', (request) => files.remove(request)),
  ];
}

class ContainerEndpoints {
  private readonly settings: ContainersSettings;

  constructor(settings: ContainersSettings) {
    this.settings = settings;
  }

  async create(request: EndpointRequest): Promise<JsonReply> {
    const { containers, limits } = this.settings;
    const { body, scope } = request;
    const { wanted, fileIds, skills } = readNewContainer(body, limits, containers.limits);
    if (skills.length > 0 && !this.settings.skills)
      throw new ApiError('unsupported_parameter', 'This server has no skills for containers.', { param: 'skills' });
    // Found first, so that a container with unknown files is not created.
    const files = await uploadedFiles(fileIds, scope, this.settings, 'file_ids');
    const skillFiles = skills.length > 0 ? await this.settings.skills?.filesFor(skills, scope, request.signal) : [];
    const container = await containers.create(scope, wanted);
    try {
      for (const file of files) {
        const content = await uploadedContent(file, this.settings);
        await containers.putFile(container, { name: file.name, source: 'user', content });
      }
      for (const { name, data } of skillFiles ?? [])
        await containers.putFile(container, { name, source: 'user', content: inOnePiece(data) });
    } catch (error) {
      // The first error is the one that the client must see.
      await containers.remove(container).catch(() => {});
      throw error;
    }
    return jsonReply(containerResource(container));
  }

  async list({ scope, query }: EndpointRequest): Promise<JsonReply> {
    const wanted = pageQuery(query);
    const all = await this.settings.containers.list(scope);
    const named = query.name === undefined ? all : all.filter(({ name }) => name === query.name);
    const page = selectPage<Container>(named, wanted);
    if (page.unknown) throw containerNotFound(wanted[page.unknown]);
    return jsonReply(listResource(page.items.map(containerResource), page.hasMore));
  }

  async retrieve(request: EndpointRequest): Promise<JsonReply> {
    return jsonReply(containerResource(await containerIn(request, this.settings.containers)));
  }

  async remove(request: EndpointRequest): Promise<JsonReply> {
    const key = containerKey(request);
    if (!(await this.settings.containers.remove(key))) throw containerNotFound(key.id);
    return jsonReply({ id: key.id, object: 'container.deleted', deleted: true });
  }
}
