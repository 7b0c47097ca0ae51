/** Shares the sockets to each origin out between the tenants, so that none of them waits for all requests of another. */
import { FairSlots } from '../../ports/queues/fair-places.ts';

/** One origin that requests are sent to. */
interface Origin {
  readonly slots: FairSlots;
  /** The requests that have a place or wait for one; without any the origin is forgotten. */
  requests: number;
}

/** The places of all origins. */
export class FairSockets {
  private readonly places: number;
  private readonly origins = new Map<string, Origin>();

  constructor(places: number) {
    this.places = places;
  }

  /** Resolves with a function that gives the place back, once or several times; rejects with the signal's reason. */
  async enter(name: string, tenant: string, signal: AbortSignal): Promise<() => void> {
    const origin = this.origins.get(name) ?? this.begin(name);
    origin.requests += 1;
    const end = () => {
      origin.requests -= 1;
      if (origin.requests === 0) this.origins.delete(name);
    };
    try {
      await origin.slots.enter(tenant, signal);
    } catch (error) {
      end();
      throw error;
    }
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      origin.slots.leave(tenant);
      end();
    };
  }

  private begin(name: string): Origin {
    const slots = new FairSlots({ places: this.places, waiting: Number.POSITIVE_INFINITY });
    const origin = { slots, requests: 0 };
    this.origins.set(name, origin);
    return origin;
  }
}
