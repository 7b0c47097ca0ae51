/** Which tools wait for the user's approval before the server runs them. */

import type { Call } from '../ports/api-request.ts';
import type { ApprovalPolicy } from '../ports/approval-policy.ts';
import { fromHost } from '../ports/host-error.ts';
import type { Gates, Offer } from '../ports/toolset.ts';

const NO_GATES: Gates = new Map();

/** Asks the host's policy for each tool, which wins over the request. Throws `HostError` where the policy throws. */
export function gatesOf(
  offer: Offer,
  { scope, request }: Pick<Call, 'scope' | 'request'>,
  policy: ApprovalPolicy | undefined,
): Gates {
  if (offer.size === 0) return NO_GATES;
  const gates = new Map<string, 'host' | 'request'>();
  for (const [modelName, { tool, url, needsApproval }] of offer) {
    const { server, name, annotations } = tool;
    const remote = url === undefined ? {} : { url };
    const asked = { server, name, ...(annotations ? { annotations } : {}), ...remote, scope, request };
    if (policy && fromHost(() => policy(asked))) gates.set(modelName, 'host');
    else if (needsApproval) gates.set(modelName, 'request');
  }
  return gates;
}
