/** Determines which tools need the user's approval before the server runs them. */

import { fromHost } from '../../ports/host/host-error.ts';
import type { ApprovalPolicy } from '../../ports/tool-provider.ts';
import type { ApprovalRules, Toolset } from '../../ports/toolset.ts';
import type { EndpointRequest } from '../request/endpoint-request.ts';

const NO_APPROVAL_RULES: ApprovalRules = new Map();

/** Calls the host's policy for each tool, which wins over the request. Throws `HostError` if the policy throws. */
export function readApprovalRules(
  toolset: Toolset,
  { scope, request }: Pick<EndpointRequest, 'scope' | 'request'>,
  policy: ApprovalPolicy | undefined,
): ApprovalRules {
  if (toolset.size === 0) return NO_APPROVAL_RULES;
  const approvalRules = new Map<string, 'host' | 'request'>();
  for (const [modelName, { tool, url, needsApproval, search }] of toolset) {
    if (search) continue;
    const { server, name, annotations } = tool;
    const remote = url === undefined ? {} : { url };
    const question = { server, name, ...(annotations ? { annotations } : {}), ...remote, scope, request };
    if (policy && fromHost(() => policy(question))) approvalRules.set(modelName, 'host');
    else if (needsApproval) approvalRules.set(modelName, 'request');
  }
  return approvalRules;
}
