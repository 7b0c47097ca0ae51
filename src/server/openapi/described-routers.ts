/** Which APIs each router of this package serves, so that one OpenAPI document describes all that are mounted at one place. */
import type { ApiDescription } from '../../apis/endpoint/operation.ts';
import type { Route } from '../../apis/endpoint/routes.ts';

/** What the document tells of an API; also of paths that are no `Route`, as they are passed on. */
export interface DescribedApi {
  readonly routes: readonly (Pick<Route, 'path' | 'readsBytes'> & { readonly method: string })[];
  readonly describe?: (() => Promise<readonly ApiDescription[]>) | undefined;
}

const served = new WeakMap<object, readonly DescribedApi[]>();
const neighbours = new WeakMap<object, readonly DescribedApi[]>();

/** Remembers what a router, or a middleware, serves: none where the host does not want it described. */
export function rememberRouter(router: object, apis: readonly DescribedApi[]): void {
  served.set(router, apis);
}

/** What it serves; undefined for what is not of this package. */
export function apisServedBy(router: object): readonly DescribedApi[] | undefined {
  return served.get(router);
}

/** Remembers, for the host's request for a document, which APIs are mounted at the same place behind the router that answers. */
export function rememberNeighbours(request: object, apis: readonly DescribedApi[]): void {
  neighbours.set(request, apis);
}

/** These APIs; none for a host that does not know. */
export function neighboursFor(request: unknown): readonly DescribedApi[] {
  return (typeof request === 'object' && request !== null && neighbours.get(request)) || [];
}
