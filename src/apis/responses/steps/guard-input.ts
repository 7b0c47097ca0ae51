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
  const { history, guarded: seen = [] } = apiRequest.context ?? {};
  const known = new Set([...(history?.loaded ?? []), ...seen]);
  const sent = await restoreBody(apiRequest.body, guards);
  const body = await guardBody(sent, guards, known.size > 0 ? known : undefined);
  const guarded = { ...checked, guards };
  if (body === apiRequest.body) return guarded;
  const valid = validateCreate(body, requestLimits(apiRequest, settings.limits));
  return { ...guarded, apiRequest: { ...apiRequest, body }, body: valid };
}
