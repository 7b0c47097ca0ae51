/** What the OpenAPI document says of containers. */
import { MEMORY_LIMITS } from '../../ports/containers/container-wishes.ts';
import { toJsonSchema } from '../../protocol/json/json-schema.ts';
import type { ApiDescription } from '../endpoint/operation.ts';
import * as shape from '../endpoint/shape.ts';
import { newContainer, newFile } from './bodies.ts';

/** The operations of `containerRoutes`. */
export function describeContainers(): ApiDescription {
  const [container, file] = [shape.ref('Container'), shape.ref('ContainerFile')];
  const named = toJsonSchema(newFile());
  return {
    tag: 'Containers',
    summary: 'Containers, in which code and commands run, and their files.',
    operations: {
      'POST /containers': {
        id: 'createContainer',
        summary: 'Creates a container',
        body: { schema: toJsonSchema(newContainer()) },
        answer: container,
      },
      'GET /containers': {
        id: 'listContainers',
        summary: 'Lists the containers',
        query: { ...shape.PAGE_QUERY, name: { ...shape.text, description: 'Selects those of this name.' } },
        answer: shape.pageOf(container),
      },
      'GET /containers/:id': { id: 'retrieveContainer', summary: 'Describes a container', answer: container },
      'DELETE /containers/:id': {
        id: 'deleteContainer',
        summary: 'Ends a container, and deletes its files',
        answer: shape.deletion('container.deleted'),
      },
      'POST /containers/:id/files': {
        id: 'createContainerFile',
        summary: 'Puts a file into a container',
        description: 'Either the file itself, or `file_id`, which names an uploaded one.',
        body: {
          type: 'multipart/form-data',
          schema: { anyOf: [shape.objectWith({ file: shape.bytes }), shape.objectWith({ file_id: shape.text })] },
          json: named,
        },
        answer: file,
      },
      'GET /containers/:id/files': {
        id: 'listContainerFiles',
        summary: 'Lists the files of a container',
        query: shape.PAGE_QUERY,
        answer: shape.pageOf(file),
      },
      'GET /containers/:id/files/:file': {
        id: 'retrieveContainerFile',
        summary: 'Describes a file of a container',
        answer: file,
      },
      'GET /containers/:id/files/:file/content': {
        id: 'downloadContainerFile',
        summary: 'Downloads a file of a container',
        description: 'A header `Range` is answered with a part.',
        answer: shape.bytes,
        answerType: '*/*',
      },
      'DELETE /containers/:id/files/:file': {
        id: 'deleteContainerFile',
        summary: 'Deletes a file of a container',
        answer: shape.deletion('container.file.deleted'),
      },
    },
    schemas: {
      Container: shape.resource(
        'container',
        {
          ...{ id: shape.text, created_at: shape.seconds, last_active_at: shape.seconds, name: shape.text },
          status: shape.oneOf('running', 'expired'),
          expires_after: shape.objectWith({ anchor: { const: 'last_active_at' }, minutes: shape.integer }),
          network_policy: shape.objectWith(
            { type: shape.oneOf('disabled', 'allowlist') },
            { allowed_domains: shape.listOf(shape.text) },
          ),
        },
        { memory_limit: shape.oneOf(...MEMORY_LIMITS) },
      ),
      ContainerFile: shape.resource('container.file', {
        ...{ id: shape.text, created_at: shape.seconds, bytes: shape.integer, container_id: shape.text },
        ...{ path: shape.text, source: shape.oneOf('user', 'assistant') },
      }),
    },
  };
}
