/** The step for a client whose tenant is unknown: nothing is stored for it, and what needs storage is refused. */

import { isUntracked, requireTenant } from '../../../ports/scope.ts';
import { isRecord } from '../../../protocol/record.ts';
import type { PreparedRequest } from './request.ts';

/** Throws `tenant_unknown`. `sentBody` is the body as the client sent it. */
export function withoutTenant(prepared: PreparedRequest, sentBody: unknown): PreparedRequest {
  const { body, apiRequest } = prepared;
  const { scope } = apiRequest;
  if (!isUntracked(scope)) return prepared;
  if (body.background) requireTenant(scope, 'A response in the background', 'background');
  if (body.context_management) requireTenant(scope, 'Compaction', 'context_management');
  const input = isRecord(sentBody) && Array.isArray(sentBody.input) ? sentBody.input : [];
  if (input.at(-1)?.type === 'compaction_trigger') requireTenant(scope, 'Compaction', 'input');
  return Object.assign({}, prepared, { body: { ...body, store: false } });
}
