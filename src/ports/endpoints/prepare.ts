/** The shape of a preparation: routers run them in a row, middlewares show each alone. */

import type { Note } from '../../protocol/note.ts';
import type { ApprovalPolicy } from '../approval-policy.ts';
import { type Hooks, notify } from '../hooks.ts';
import type { Limits } from '../limits.ts';
import type { RemoteServers } from '../remote-servers.ts';
import type { MaybePromise, ResponseStore } from '../store.ts';
import type { ToolsOf } from '../tool-provider.ts';
import type { WantedHeartbeat } from '../turn-context.ts';
import type { EndpointRequest } from './endpoint-request.ts';

/** What a preparation may use. */
export interface PrepareSettings {
  readonly store: ResponseStore;
  readonly limits: Limits;
  readonly hooks: Hooks;
  readonly toolsOf: ToolsOf;
  readonly remoteMcp?: RemoteServers | undefined;
  readonly mcpLabels?: readonly string[] | undefined;
  readonly approval?: ApprovalPolicy | undefined;
}

/**
 * Answers the call with its body rewritten in its own dialect and the context saying so; what the context tells of is
 * not done again. Throws `ApiError` for what is wrong with the request.
 */
export type Prepare = (request: EndpointRequest, settings: PrepareSettings) => MaybePromise<EndpointRequest>;

/** How silence is filled: a middleware in front knows the request better than the router's options do. */
export function heartbeatOf(
  { context }: EndpointRequest,
  { heartbeat }: { readonly heartbeat: WantedHeartbeat },
): WantedHeartbeat {
  return context?.heartbeat ?? heartbeat;
}

/** Notes of one preparation, at most: a client may send 100,000 items that are each worth one, and hosts write logs. */
const MOST_NOTES = 64;

/** Tells the host of what was left out of this call. */
export function noteOf({ requestId }: Pick<EndpointRequest, 'requestId'>, { hooks }: { readonly hooks: Hooks }) {
  let notes = 0;
  return (note: Note) => {
    notes += 1;
    if (notes > MOST_NOTES) return;
    const last = notes === MOST_NOTES ? { ...note, message: `${note.message} More such notes are left out.` } : note;
    notify(hooks, 'onNote', last, { requestId });
  };
}
