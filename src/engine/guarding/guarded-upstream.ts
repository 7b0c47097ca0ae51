/** A model server behind the guards of one request: it receives placeholders, and its answer is guarded. */
import type { Upstream } from '../../ports/upstream.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import { GuardedEvents } from './answers/guarded-events.ts';
import { guardedStream } from './answers/guarded-stream.ts';
import { ModelRequests } from './request/guarded-body.ts';
import type { RequestGuards } from './request/request-guards.ts';

/**
 * The calls of one turn. `opensItemOf` returns, for one of them, whether a call of this name is shown as soon as it
 * begins; it is asked once for each.
 */
export function guardedUpstream(
  upstream: Pick<Upstream, 'stream'>,
  guards: RequestGuards,
  opensItemOf: (request: ModelRequest) => (name: string) => boolean,
): Pick<Upstream, 'stream'> {
  const requests = new ModelRequests(guards);
  const stream: Upstream['stream'] = guards.restores
    ? async function* withPlaceholders(request, call) {
        yield* upstream.stream(await requests.guarded(request), call);
      }
    : (request, call) => upstream.stream(request, call);
  return {
    stream: (request, call) =>
      guardedStream<readonly ModelEvent[]>(
        stream(request, call),
        new GuardedEvents(guards, opensItemOf(request), call.limits.outputBytes),
      ),
  };
}
