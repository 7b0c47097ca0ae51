/** How much one request may bring, apart from what our own middlewares have put into it. */

import type { BringLimits } from '../../protocol/responses/bring-limits.ts';
import { refuseLong } from '../../protocol/responses/invalid.ts';
import type { Limits } from '../limits.ts';
import type { EndpointRequest } from './endpoint-request.ts';

/** The limits of the body as it stands: history that was loaded and tools that were injected are not the client's. */
export function bringLimits({ context }: Pick<EndpointRequest, 'context'>, limits: Limits): BringLimits {
  const { history, tools } = context ?? {};
  if (!history && !tools) return limits;
  return {
    // Who loaded a history has counted the values before.
    bodyValues: history ? Number.POSITIVE_INFINITY : limits.bodyValues,
    inputItems: limits.inputItems + (history?.loaded.length ?? 0),
    tools: limits.tools + (tools?.toolset.size ?? 0),
  };
}

const LISTS = { input: 'inputItems', messages: 'inputItems', tools: 'tools', functions: 'tools' } as const;

/** Throws `array_above_max_length` where a body of either API brings more than it may; what is no list is for others. */
export function refuseMany(body: Readonly<Record<string, unknown>>, limits: BringLimits): void {
  for (const field of ['input', 'messages', 'tools', 'functions'] as const) {
    const list = body[field];
    if (Array.isArray(list)) refuseLong(field, list.length, limits[LISTS[field]]);
  }
}
