/** The clients that follow the events of background responses: how many are allowed, for how long, and how they end. */
import { type Activity, activity } from '../../engine/request/activity.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { beginTurn, type Lifetime } from '../../engine/turn/lifetime.ts';
import { DEFAULT_LIMITS, type Limits } from '../../ports/limits.ts';
import { storeKey } from '../../ports/store.ts';
import { ApiError } from '../../protocol/errors.ts';

/** Milliseconds in which followers can read the end of a response that took all of its time. */
const READ_END_MS = 1000;

type FollowerLimits = Pick<Limits, 'followersPerResponse' | 'followersPerScope' | 'durationMs'>;

/** The followers of one router. */
export class Followers {
  private readonly limits: FollowerLimits;
  private readonly running: Activity = activity(DEFAULT_LIMITS);
  private readonly counts = new Map<string, number>();

  constructor(limits: FollowerLimits) {
    this.limits = limits;
  }

  /**
   * Starts to follow the response `id`, or one that is about to be created. It ends soon after `durationMs` is
   * over, when the server shuts down or the client leaves. Throws `too_many_streams` or `server_draining`.
   */
  begin(request: EndpointRequest, id?: string): Lifetime {
    const { followersPerResponse, followersPerScope, durationMs } = this.limits;
    const { scope } = request;
    const places = [storeKey({ scope, id: '' }), ...(id === undefined ? [] : [storeKey({ scope, id })])];
    const [ofScope = 0, ofResponse = 0] = places.map((place) => this.counts.get(place));
    const isScopeFull = ofScope >= followersPerScope;
    if (isScopeFull || ofResponse >= followersPerResponse) {
      const what = isScopeFull ? 'You follow as many responses' : 'This response is followed by as many clients';
      throw new ApiError('too_many_streams', `${what} as this server allows. Try again later.`);
    }
    const life = beginTurn(request, durationMs + READ_END_MS, this.running);
    for (const place of places) this.count(place, 1);
    let isOver = false;
    const leave = () => {
      life.leave();
      if (isOver) return;
      isOver = true;
      for (const place of places) this.count(place, -1);
    };
    return { signal: life.signal, place: undefined, leave, whenOver: life.whenOver };
  }

  /** As `Activity` does: refuses new ones, and resolves when there are none left. */
  readonly drain: Activity['drain'] = (options) => this.running.drain(options);

  private count(place: string, more: number): void {
    const count = (this.counts.get(place) ?? 0) + more;
    if (count === 0) this.counts.delete(place);
    else this.counts.set(place, count);
  }
}
