/** The guards see what the request brings: instructions and input, before anything is made of them. */

import { guardedBody, restoredBody } from '../../../engine/guarding/request/guarded-body.ts';
import type { RequestGuards } from '../../../engine/guarding/request/request-guards.ts';
import type { Limits } from '../../../ports/limits.ts';
import { validateCreate } from '../../../protocol/responses/validate.ts';
import { bringLimits } from '../../endpoint/brought.ts';
import type { CheckedRequest } from './request.ts';

/** Throws `content_filter` and `guard_failed`. */
export async function guardInput(
  checked: CheckedRequest,
  guards: RequestGuards,
  settings: { readonly limits: Limits },
): Promise<CheckedRequest> {
  const { apiRequest } = checked;
  const body = await guarded(checked, guards);
  const seen = { ...checked, guards };
  if (body === apiRequest.body) return seen;
  return {
    ...seen,
    apiRequest: { ...apiRequest, body },
    body: validateCreate(body, bringLimits(apiRequest, settings.limits)),
  };
}

async function guarded({ apiRequest: { body, context } }: CheckedRequest, guards: RequestGuards): Promise<unknown> {
  const sent = await restoredBody(body, guards);
  const loaded = context?.history?.loaded ?? [];
  return guardedBody(sent, guards, loaded.length > 0 ? new Set(loaded) : undefined);
}
