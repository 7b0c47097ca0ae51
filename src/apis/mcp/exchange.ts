/** One request of an MCP client that waits for its answer: it has a place, can be aborted, and ends once. */
import type { Activity, Running } from '../../engine/request/activity.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { limitScope } from '../../ports/scope.ts';
import type { ApiError } from '../../protocol/errors.ts';

/** A class, as the places link their members by their fields. */
export class Exchange implements Running {
  line: Running['line'] = undefined;
  before: Running['before'] = undefined;
  after: Running['after'] = undefined;
  readonly tenant: string;
  readonly request: EndpointRequest;
  /** Nobody waits for a place, as none is queued for. */
  readonly isPatient = false;
  private readonly controller = new AbortController();
  private readonly places: Activity;
  private onEnd: (() => void) | undefined = undefined;

  /** Takes a place; throws `too_many_streams` and `server_draining`. */
  constructor(request: EndpointRequest, places: Activity) {
    this.request = request;
    this.places = places;
    this.tenant = limitScope(request.scope);
    void places.begin(this);
    if (request.signal.aborted) this.leave();
    else request.signal.addEventListener('abort', this.leave, { once: true });
  }

  /** Aborted when the client has left, or the server ends it; not by its end. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  get disconnect(): (() => void) | undefined {
    return this.request.disconnect;
  }

  readonly abort = (reason: ApiError | Error): void => {
    this.controller.abort(reason);
    this.end();
  };

  /** Calls the function at its end, or at once if it is over. */
  whenEnded(act: () => void): void {
    if (this.signal.aborted) act();
    else this.onEnd = act;
  }

  /** Gives its place back. May be called twice. */
  end(): void {
    this.request.signal.removeEventListener('abort', this.leave);
    this.places.end(this);
    const act = this.onEnd;
    this.onEnd = undefined;
    act?.();
  }

  private readonly leave = (): void => this.abort(new Error('The client left.'));
}
