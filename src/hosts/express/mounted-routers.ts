/** Finds the routers of this package that an Express app has mounted at the same place as another one. */
import type { Request } from 'express';
import { isRecord } from '../../protocol/record.ts';
import { apisServedBy, type DescribedApi } from '../../server/openapi/described-routers.ts';

/** What is looked at of an app, which may be of any size. */
const MAX_LAYERS = 10_000;

/**
 * The APIs of the routers that the request would reach behind `router` if that did not answer it. What stands behind a handler of the
 * host's that does not stand before `router` as well is left out: it may be for others, and only that handler knows. None if the app
 * cannot be read, as Express documents no way to.
 */
export function apisMountedBehind(router: object, { app, baseUrl, path }: Request): readonly DescribedApi[] {
  const found: DescribedApi[] = [];
  const passed = new Set<unknown>();
  let isBehind = false;
  try {
    // A getter of Express 4 throws that is the router of Express 5.
    const { _router: root = app.router } = app as { readonly _router?: unknown; readonly router: unknown };
    const mountPath = app.path();
    const full = `${baseUrl}${path}`;
    if (!full.startsWith(mountPath)) return [];
    for (const handler of handlersAt(stackOf(root) ?? [], full.slice(mountPath.length), { layers: MAX_LAYERS })) {
      const apis = apisServedBy(handler);
      if (handler === router) isBehind = true;
      else if (!isBehind) passed.add(handler);
      else if (apis) found.push(...apis);
      else if (!passed.has(handler)) break;
    }
    return found;
  } catch {
    return [];
  }
}

type Handler = (...args: unknown[]) => unknown;

/** A layer of Express 4 or 5: `match` returns its match, or sets `path` and returns whether there is one. */
interface Layer {
  readonly handle: Handler;
  readonly path?: unknown;
  match(path: string): unknown;
}

function stackOf(router: unknown): readonly Layer[] | undefined {
  // The cast: Express's own list, whose members are checked where they are used, by the `catch` above.
  const { stack } = Object(router) as { readonly stack?: unknown };
  return Array.isArray(stack) ? (stack as readonly Layer[]) : undefined;
}

/** The handlers that a request of this path passes, in their order: routers of this package whole, those of the host by their parts. */
function* handlersAt(stack: readonly Layer[], path: string, left: { layers: number }): Generator<Handler> {
  for (const layer of stack) {
    left.layers -= 1;
    if (left.layers < 0) throw new RangeError('The app has too many layers.');
    const { handle } = layer;
    const match = layer.match(path);
    // Those with four parameters handle errors.
    if (!match || handle.length > 3) continue;
    const inner = apisServedBy(handle) ? undefined : stackOf(handle);
    if (!inner) {
      yield handle;
      continue;
    }
    const prefix = String(isRecord(match) ? match.path : layer.path);
    const rest = path.slice(prefix.length);
    if (path.startsWith(prefix)) yield* handlersAt(inner, rest.startsWith('/') ? rest : `/${rest}`, left);
  }
}
