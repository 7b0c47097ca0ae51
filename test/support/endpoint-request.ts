/** A request as an endpoint gets it from a host. */
import type { EndpointRequest } from '../../src/ports/endpoints/endpoint-request.ts';

/** A request of the tenant `s` with an empty body, which nobody aborts; `given` goes over it. */
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
