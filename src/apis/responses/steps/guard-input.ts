/** The guards see what the request brings: instructions and input, before anything is made of them. */

import { guardBody, restoreBody } from '../../../engine/guarding/request/guarded-body.ts';
import type { RequestGuards } from '../../../engine/guarding/request/request-guards.ts';
import type { Limits } from '../../../ports/limits.ts';
import { validateCreate } from '../../../protocol/responses/validate.ts';
import { requestLimits } from '../../endpoint/request-limits.ts';
import type { CheckedRequest } from './request.ts';

/** Throws `content_filter` and `guard_failed`. */
export async function guardInput(
  checked: CheckedRequest,
  guards: RequestGuards,
  settings: { readonly limits: Limits },
): Promise<CheckedRequest> {
  const { apiRequest } = checked;
  const loaded = apiRequest.context?.history?.loaded ?? [];
  const sent = await restoreBody(apiRequest.body, guards);
  const body = await guardBody(sent, guards, loaded.length > 0 ? new Set(loaded) : undefined);
  const guarded = { ...checked, guards };
  if (body === apiRequest.body) return guarded;
  const valid = validateCreate(body, requestLimits(apiRequest, settings.limits));
  return { ...guarded, apiRequest: { ...apiRequest, body }, body: valid };
}
