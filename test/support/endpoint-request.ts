/** A request as an endpoint receives it from a host. */
import type { EndpointRequest } from '../../src/engine/request/endpoint-request.ts';

/** A request of the tenant `s` with an empty body, which nobody aborts; `given` overrides its fields. */
export function endpointRequest(given: Partial<EndpointRequest> = {}): EndpointRequest {
  return {
    body: {},
    params: {},
    query: {},
    headers: new Headers(),
    scope: 's',
    requestId: 'req_1',
    signal: new AbortController().signal,
    ...given,
  };
}
