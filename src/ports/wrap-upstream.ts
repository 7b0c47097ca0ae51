/** Decorates an upstream: everything that a decorator does not override is the upstream's own, and each call stays one object. */
import type { Upstream, UpstreamCall } from './upstream.ts';

/**
 * The upstream with some of its members replaced. An override applies only where the upstream has the member itself, so an
 * optional method that it lacks stays absent; members that a decorator does not know pass through. Getters are read, and
 * methods are called, on the upstream, which may be an object of a class with private fields.
 */
export function wrapUpstream<Wrapped extends Pick<Upstream, 'stream'>>(
  upstream: Wrapped,
  overrides: { readonly [Name in keyof Wrapped]?: Wrapped[Name] | undefined },
): Wrapped {
  function read(name: string | symbol): unknown {
    const value: unknown = Reflect.get(upstream, name, upstream);
    if (value === undefined || value === null) return value;
    if (Object.hasOwn(overrides, name)) return Reflect.get(overrides, name);
    return typeof value === 'function' ? value.bind(upstream) : value;
  }
  // Not over the upstream itself: a proxy must return the own members of a frozen object unchanged.
  return new Proxy<Wrapped>(Object.create(upstream), {
    get: (_, name) => read(name),
    set: (_, name, value) => Reflect.set(upstream, name, value, upstream),
    has: (_, name) => Reflect.has(upstream, name),
    // For a host that copies the members into an object of its own.
    ownKeys: () => Reflect.ownKeys(upstream),
    getOwnPropertyDescriptor(_, name) {
      const descriptor = Reflect.getOwnPropertyDescriptor(upstream, name);
      if (!descriptor) return undefined;
      return { value: read(name), enumerable: descriptor.enumerable ?? false, writable: true, configurable: true };
    },
  });
}

/**
 * One object for each call that the wrapper receives, however many rounds the call has: upstreams keep what they know of a
 * call by its object, such as the server that answers it and the secrets in its headers.
 */
export class WrappedCalls {
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
