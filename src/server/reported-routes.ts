/** Reports each request to a router and the beginning of its answer, where somebody reads the steps of requests. */

import type { Route } from '../apis/endpoint/routes.ts';
import type { EndpointRequest } from '../engine/request/endpoint-request.ts';
import { stopwatch } from '../ports/step.ts';
import { toReportedModel } from '../protocol/printable.ts';
import { isRecord } from '../protocol/record.ts';
import type { CoreSettings } from './options/core-settings.ts';

/** The same route, which reports its steps; `announce` is called first. */
export function reportedRoute(
  route: Route,
  { recorder }: Pick<CoreSettings, 'recorder'>,
  announce: () => void = () => {},
): Route {
  const { method, path, endpoint } = route;
  const name = `${method} ${path}`;
  return {
    ...route,
    endpoint(request) {
      announce();
      const { onStep } = recorder;
      if (!onStep) return endpoint(request);
      const elapsed = stopwatch();
      const { requestId } = request;
      onStep(receivedStep(request, name));
      return endpoint(request).then((reply) => {
        onStep({ name: 'answered', requestId, status: reply.status, ms: elapsed() });
        return reply;
      });
    },
  };
}

/** The step that begins a request; its body has not been checked yet. */
export function receivedStep({ requestId, body }: Pick<EndpointRequest, 'requestId' | 'body'>, endpoint: string) {
  const { model, stream } = isRecord(body) ? body : {};
  return {
    name: 'request received',
    requestId,
    endpoint,
    model: typeof model === 'string' ? toReportedModel(model) : undefined,
    stream: stream === true,
  } as const;
}
