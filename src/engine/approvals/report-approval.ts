/** Reports each step of an approval to the host. */

import { type ApprovalInfo, notify, type Reports } from '../../ports/hooks.ts';
import { type ApprovalRules, findTool, type Toolset } from '../../ports/toolset.ts';
import type { Item } from '../../protocol/items.ts';
import type { EndpointRequest } from '../request/endpoint-request.ts';

/** A request for approval by its id, with its item if that is known. */
export interface Decided {
  readonly id: string;
  readonly request: Item | undefined;
}

/** The request's tenant, and the tools that need approval in it. */
export interface Approver {
  readonly apiRequest: EndpointRequest;
  readonly toolset: Toolset;
  readonly approvalRules: ApprovalRules;
}

/** Calls `hooks.onApproval`. */
export function reportApproval(
  { id, request }: Decided,
  decision: ApprovalInfo['decision'],
  { apiRequest: { requestId, scope }, toolset, approvalRules }: Approver,
  { hooks }: { readonly hooks: Reports },
): void {
  const server = typeof request?.server_label === 'string' ? request.server_label : undefined;
  const name = typeof request?.name === 'string' ? request.name : undefined;
  const [modelName = ''] = findTool(toolset, server ?? '', name ?? '') ?? [];
  const forcedByHost = approvalRules.get(modelName) === 'host';
  notify(hooks, 'onApproval', { requestId, scope, server, name, approvalRequestId: id, decision, forcedByHost });
}
