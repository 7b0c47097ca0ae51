/** Tells the host each step of an approval. */
import type { Call } from '../ports/api-request.ts';
import { type ApprovalInfo, type Hooks, tell } from '../ports/hooks.ts';
import { findOffered, type Gates, type Offer } from '../ports/toolset.ts';
import type { Item } from '../protocol/items.ts';

/** A request for approval by its id, with its item where that is known. */
export interface Decided {
  readonly id: string;
  readonly request: Item | undefined;
}

/** Whose request it is, and which tools wait for approval in it. */
export interface Approver {
  readonly call: Call;
  readonly offer: Offer;
  readonly gates: Gates;
}

/** Calls `hooks.onApproval`. */
export function tellApproval(
  { id, request }: Decided,
  decision: ApprovalInfo['decision'],
  { call: { requestId, scope }, offer, gates }: Approver,
  { hooks }: { readonly hooks: Hooks },
): void {
  const server = textOf(request?.server_label);
  const name = textOf(request?.name);
  const [modelName = ''] = findOffered(offer, server ?? '', name ?? '') ?? [];
  const forcedByHost = gates.get(modelName) === 'host';
  tell(hooks, 'onApproval', { requestId, scope, server, name, approvalRequestId: id, decision, forcedByHost });
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
