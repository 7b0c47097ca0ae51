/** Limits how much one request may bring, not counting what this package's middlewares have added to it. */

import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import type { Limits } from '../../ports/limits.ts';
import type { RequestLimits } from '../../protocol/responses/bring-limits.ts';
import { refuseLong } from '../../protocol/responses/invalid.ts';

/** Checks the limits of the current body: loaded history and injected tools are not the client's. */
export function requestLimits({ context }: Pick<EndpointRequest, 'context'>, limits: Limits): RequestLimits {
  const { history, tools } = context ?? {};
  if (!history && !tools) return limits;
  return {
    // The step that loaded a history has already counted the values.
    bodyValues: history ? Number.POSITIVE_INFINITY : limits.bodyValues,
    inputItems: limits.inputItems + (history?.loaded.length ?? 0),
    tools: limits.tools + (tools?.toolset.size ?? 0),
  };
}

const LISTS = { input: 'inputItems', messages: 'inputItems', tools: 'tools', functions: 'tools' } as const;

/**
 * Throws `array_above_max_length` if a body of either API exceeds a limit; a value that is not a list is validated
 * elsewhere.
 */
export function refuseMany(body: Readonly<Record<string, unknown>>, limits: RequestLimits): void {
  for (const field of ['input', 'messages', 'tools', 'functions'] as const) {
    const list = body[field];
    if (Array.isArray(list)) refuseLong(field, list.length, limits[LISTS[field]]);
  }
}
