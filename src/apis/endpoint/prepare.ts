/** The shape of a preparation step: routers run them in a row, middlewares offer each one alone. */

import type { GuardSettings } from '../../engine/guarding/guard/settings.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import type { FileFetcher } from '../../ports/files/file-fetcher.ts';
import type { FileStore } from '../../ports/files/file-store.ts';
import type { TextReader } from '../../ports/files/text-reader.ts';
import { notify, type Reports, reportInfo } from '../../ports/hooks.ts';
import type { Limits } from '../../ports/limits.ts';
import type { RemoteServers } from '../../ports/remote-servers.ts';
import { reportStep } from '../../ports/step.ts';
import type { MaybePromise, ResponseStore } from '../../ports/store.ts';
import type { ApprovalPolicy, ToolsOf } from '../../ports/tool-provider.ts';
import type { WantedHeartbeat } from '../../ports/turn-context.ts';
import type { Upstream } from '../../ports/upstream.ts';
import type { Note } from '../../protocol/note.ts';
import { type Silence, UNFILLED } from '../../streams/heartbeats.ts';

/** The dependencies of a preparation. */
export interface PrepareSettings {
  readonly store: ResponseStore;
  readonly limits: Limits;
  readonly hooks: Reports;
  readonly toolsOf: ToolsOf;
  readonly remoteMcp?: RemoteServers | undefined;
  readonly approval?: ApprovalPolicy | undefined;
  /** Whether the model is offered only the tools that the request allows it to call. Default: `all`. */
  readonly offeredTools?: 'all' | 'allowed' | undefined;
  /** Uploaded files; undefined if requests may name none. */
  readonly files?: FileStore | undefined;
  /** What reads documents for models; undefined if they receive them as they are. */
  readonly documents?: TextReader | undefined;
  /** What fetches files that requests name by their URL; undefined if none are fetched here. */
  readonly fileFetcher?: FileFetcher | undefined;
  /** What inspects texts that become part of the prompt; undefined if nothing does. */
  readonly guards?: GuardSettings | undefined;
}

/** The model server, where it is known. */
export interface ServerOfModels {
  readonly upstream?: Pick<Upstream, 'nativeTypes'> | undefined;
}

/**
 * Returns the request with its body rewritten in its own dialect and a context that records it; steps recorded in the
 * context are not repeated. Throws `ApiError` for an invalid request.
 */
export type Prepare = (request: EndpointRequest, settings: PrepareSettings) => MaybePromise<EndpointRequest>;

/** The same preparation, which reports what it has loaded, where somebody reads the steps of requests. */
export function reportingHistory(
  load: (request: EndpointRequest, settings: PrepareSettings) => MaybePromise<EndpointRequest>,
): (request: EndpointRequest, settings: PrepareSettings) => MaybePromise<EndpointRequest> {
  return (request, settings) =>
    reportStep(
      settings.hooks.recorder?.onStep,
      () => load(request, settings),
      ({ context }, ms) => {
        const items = request.context?.history ? 0 : (context?.history?.loaded.length ?? 0);
        return items > 0 ? { name: 'history loaded', requestId: request.requestId, items, ms } : undefined;
      },
    );
}

/**
 * Whether the model's server takes tools of a type as the client sends them; undefined if it takes functions only, or the
 * client does not speak the Responses API.
 */
export function nativeTypeTest(
  { asSent }: EndpointRequest,
  { upstream }: ServerOfModels,
  model: unknown,
): ((type: string) => boolean) | undefined {
  if (asSent?.api === 'messages' || typeof model !== 'string') return undefined;
  return upstream?.nativeTypes?.(model);
}

/** The heartbeat settings: a middleware in front knows the request better than the router's options do. */
export function requestHeartbeat(
  { context }: EndpointRequest,
  { heartbeat }: { readonly heartbeat: WantedHeartbeat },
): WantedHeartbeat {
  return context?.heartbeat ?? heartbeat;
}

/** How the silence of the request's stream is filled; where there is no stream, it is not. */
export function requestSilence(
  request: EndpointRequest,
  settings: { readonly heartbeat: WantedHeartbeat; readonly limits: Pick<Limits, 'openAfterMs'> },
  isStreamed = true,
): Silence {
  // A client that waits for nothing needs no heartbeats.
  if (!isStreamed) return UNFILLED;
  const { intervalMs } = requestHeartbeat(request, settings);
  return { intervalMs, openAfterMs: openAfter(settings.limits.openAfterMs, { intervalMs }) };
}

/** Milliseconds until a stream is opened: no later than a heartbeat would come, unless it is never. */
export function openAfter(
  openAfterMs: number,
  { intervalMs = openAfterMs }: Pick<WantedHeartbeat, 'intervalMs'>,
): number {
  return openAfterMs === Number.POSITIVE_INFINITY ? openAfterMs : Math.min(openAfterMs, intervalMs);
}

/**
 * The maximum number of notes of one preparation: a client may send 100,000 items that each cause one, and hosts log
 * them.
 */
const MOST_NOTES = 64;

/** Reports to the host what was left out of this request, of which the response is known or not yet. */
export function noteReporter(
  request: Pick<EndpointRequest, 'requestId' | 'scope'>,
  { hooks }: { readonly hooks: Reports },
  responseId?: string,
) {
  // Made now: the function outlives the preparation, and must hold no request, whose history may be freed.
  const about = reportInfo(request, responseId);
  let notes = 0;
  return (note: Note) => {
    notes += 1;
    if (notes > MOST_NOTES) return;
    const last = notes === MOST_NOTES ? { ...note, message: `${note.message} More such notes are left out.` } : note;
    notify(hooks, 'onNote', last, about);
  };
}
