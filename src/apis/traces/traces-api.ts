/** `POST /traces/ingest` as a value, for `openResponses` and for the router. */
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import {
  checkOptions,
  isFunction,
  isObject,
  type OptionCheck,
  positiveInteger,
} from '../../ports/host/options-check.ts';
import type { TraceReceiver } from '../../ports/host/trace-receiver.ts';
import { requireTenant } from '../../ports/scope.ts';
import { type JsonReply, jsonReply } from '../../protocol/reply.ts';
import type { Api, ApiHost } from '../endpoint/api.ts';
import { endpointFor, reportError } from '../endpoint/endpoint.ts';
import { readIngest } from './ingest-body.ts';
import { TenantSpans } from './tenant-spans.ts';

/** Where traces go, and how many a tenant may send; `undefined` means omitted. */
export interface TracesOptions {
  /** What receives them: an inspector, `forwardTraces()` of `./otel`, or receivers of your own. */
  readonly receivers: readonly TraceReceiver[];
  /** What a tenant may send. Default: those of `TraceQuota`. */
  readonly quota?: TraceQuota | undefined;
}

/** What a tenant may send; `undefined` means the default. */
export interface TraceQuota {
  /** Spans in a minute; more are refused with 429. Default: 60,000. */
  readonly spansPerMinute?: number | undefined;
}

/** The checks of the options, to which a router adds its own. */
export const tracesChecks: Readonly<Record<keyof TracesOptions, OptionCheck>> = {
  receivers: (value) =>
    (Array.isArray(value) &&
      value.length > 0 &&
      value.every((each) => isFunction(Object(each).receiveTraces) === true)) ||
    'a list of receivers, such as [inspector] and [forwardTraces()]',
  quota: isObject,
};

/**
 * `POST /traces/ingest`, for the option `apis` of `openResponses`: what OpenAI's agents SDKs export of an agent's run goes to an
 * inspector, where it stands beside the responses, and to OpenTelemetry. Throws a `TypeError` for an unknown option or a bad value.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { openResponses } from 'express-open-responses';
 * import { createInspector } from 'express-open-responses/inspector';
 * import { tracesApi } from 'express-open-responses/traces';
 *
 * const inspector = createInspector();
 * const api = openResponses({ inspector, apis: [tracesApi({ receivers: [inspector] })] });
 * express().use('/v1', api.router).use('/inspect', inspector.router).listen(3000);
 * ```
 */
export function tracesApi(options: TracesOptions): Api {
  checkOptions('tracesApi', options, tracesChecks);
  return makeTracesApi('tracesApi', options);
}

/** The same for the function `owner`, which has checked its options. */
export function makeTracesApi(owner: string, { receivers, quota = {} }: TracesOptions): Api {
  if (receivers === undefined) throw new TypeError(`${owner}: receivers is missing, got undefined`);
  checkOptions(`${owner}: quota`, quota, { spansPerMinute: positiveInteger });
  const tenants = new TenantSpans(quota.spansPerMinute ?? 60_000);

  async function ingest(request: EndpointRequest, host: ApiHost): Promise<JsonReply> {
    const { scope } = request;
    requireTenant(scope, 'A trace', null);
    const { traces, spans: sent } = readIngest(request.body, host.limits);
    const spans = tenants.take(scope, sent);
    for (const receiver of receivers) {
      try {
        receiver.receiveTraces({ scope, traces, spans });
      } catch (error) {
        reportError(error, request, host);
      }
    }
    return jsonReply({ object: 'traces.ingest', received: spans.length, repeated: sent.length - spans.length });
  }

  return {
    name: 'traces',
    open: (host) => ({
      routes: [
        { method: 'POST', path: '/traces/ingest', endpoint: endpointFor((request) => ingest(request, host), host) },
      ],
      describe: async () => [(await import('./description.ts')).describeTraces()],
    }),
  };
}
