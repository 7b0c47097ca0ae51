/** Containers and their files as clients see them. */
import { CONTAINER_FOLDER, type Container, type ContainerFile } from '../../ports/containers/container.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { unixSeconds } from '../../protocol/reply.ts';

const MINUTE_MS = 60_000;

/** OpenAI's container. */
export function containerResource(container: Container): JsonObject {
  const { id, name, status, createdAt, lastActiveAt, expiresAfterMs, memoryLimit, networkPolicy } = container;
  const { type, allowedDomains } = networkPolicy;
  return {
    id,
    object: 'container',
    created_at: unixSeconds(createdAt),
    status,
    expires_after: { anchor: 'last_active_at', minutes: Math.ceil(expiresAfterMs / MINUTE_MS) },
    last_active_at: unixSeconds(lastActiveAt),
    ...(memoryLimit ? { memory_limit: memoryLimit } : {}),
    network_policy: { type, ...(allowedDomains ? { allowed_domains: allowedDomains } : {}) },
    name,
  };
}

/** OpenAI's file of a container. */
export function containerFileResource(container: string, file: ContainerFile): JsonObject {
  const { id, bytes, createdAt, name, source } = file;
  const about = { created_at: unixSeconds(createdAt), bytes, container_id: container };
  return { id, object: 'container.file', ...about, path: `${CONTAINER_FOLDER}/${name}`, source };
}
