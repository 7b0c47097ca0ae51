/** The first step: the body is checked. */

import type { EndpointRequest } from '../../../engine/request/endpoint-request.ts';
import { validateCreate } from '../../../protocol/responses/validate.ts';
import type { PrepareSettings } from '../../endpoint/prepare.ts';
import { requestLimits } from '../../endpoint/request-limits.ts';
import type { CheckedRequest } from './request.ts';

/** Throws `ApiError` naming the field at fault. */
export function validate(
  request: EndpointRequest,
  { limits, files }: Pick<PrepareSettings, 'limits' | 'files'>,
): CheckedRequest {
  const body = validateCreate(request.body, requestLimits(request, limits), files !== undefined);
  return { apiRequest: request, body };
}
