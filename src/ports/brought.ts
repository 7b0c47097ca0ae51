/** How much one request may bring, apart from what our own middlewares have put into it. */

import { isRecord } from '../protocol/record.ts';
import { refuseLong } from '../protocol/responses/invalid.ts';
import type { Call } from './api-request.ts';
import type { Limits } from './limits.ts';

/** The limits of what a client writes into a body. */
export type BringLimits = Pick<Limits, 'bodyValues' | 'inputItems' | 'tools'>;

/** The limits of the body as it stands: history that was loaded and tools that were injected are not the client's. */
export function bringLimits({ context }: Pick<Call, 'context'>, limits: Limits): BringLimits {
  const { history, tools } = context ?? {};
  if (!history && !tools) return limits;
  return {
    // Who loaded a history has counted the values before.
    bodyValues: history ? Number.POSITIVE_INFINITY : limits.bodyValues,
    inputItems: limits.inputItems + (history?.loaded.length ?? 0),
    tools: limits.tools + (tools?.offer.size ?? 0),
  };
}

/** The tools of a list, those in its namespaces included. */
export function toolCount(tools: readonly unknown[]): number {
  let count = tools.length;
  for (const tool of tools) {
    if (isRecord(tool) && tool.type === 'namespace' && Array.isArray(tool.tools)) count += toolCount(tool.tools);
  }
  return count;
}

const LISTS = { input: 'inputItems', messages: 'inputItems', tools: 'tools', functions: 'tools' } as const;

/** Throws `array_above_max_length` where a body of either API brings more than it may; what is no list is for others. */
export function refuseMany(body: Readonly<Record<string, unknown>>, limits: BringLimits): void {
  for (const field of ['input', 'messages', 'tools', 'functions'] as const) {
    const list = body[field];
    if (Array.isArray(list)) refuseLong(field, list.length, limits[LISTS[field]]);
  }
}
