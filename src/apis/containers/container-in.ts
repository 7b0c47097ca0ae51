/** Finds the container that a request names. */
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import type { Container, ContainerKey } from '../../ports/containers/container.ts';
import { containerNotFound } from '../../ports/containers/container-errors.ts';
import type { Containers } from '../../ports/containers/containers.ts';
import { isUntracked } from '../../ports/scope.ts';
import { isObjectId } from '../../protocol/ids.ts';

/** Throws `container_not_found` for an id that no container of the tenant can have. */
export function containerKey({ scope, params }: Pick<EndpointRequest, 'scope' | 'params'>): ContainerKey {
  const id = String(params.id);
  if (!isObjectId('container', id) || isUntracked(scope)) throw containerNotFound(id);
  return { scope, id };
}

/** The container, which may have expired. Throws `container_not_found`. */
export async function containerIn(request: EndpointRequest, containers: Containers): Promise<Container> {
  const key = containerKey(request);
  const container = await containers.find(key);
  if (!container) throw containerNotFound(key.id);
  return container;
}
