/** The calls that a wrapper of an upstream passes on with changes of its own. */
import type { UpstreamCall } from '../../ports/upstream.ts';

/**
 * One object for each call that the wrapper receives, however many rounds the call has: upstreams keep what they know of a
 * call by its object, such as the server that answers it and the secrets in its headers.
 */
export class OwnCalls {
  private readonly calls = new WeakMap<UpstreamCall, UpstreamCall>();

  /** The call with these changes, for its next round. */
  changed(call: UpstreamCall, changes: Partial<UpstreamCall>): UpstreamCall {
    const own = Object.assign(this.calls.get(call) ?? {}, call, changes);
    this.calls.set(call, own);
    return own;
  }

  /** The call as it was passed on; the same one where it never was. */
  passedOn(call: UpstreamCall | undefined): UpstreamCall | undefined {
    return (call && this.calls.get(call)) ?? call;
  }
}
