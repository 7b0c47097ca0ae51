/** `GET /openapi.json`: the document of the APIs that are served together. */
import type { OpenApi } from '../../apis/endpoint/api.ts';
import { type EndpointSettings, endpointFor } from '../../apis/endpoint/endpoint.ts';
import type { Route } from '../../apis/endpoint/routes.ts';
import { JSON_HEADERS } from '../../protocol/reply.ts';
import type { DescribedRoutes } from './document.ts';

/** The route over these APIs. Nothing is loaded or made before its first request, which every later one is answered like. */
export function openApiRoute(
  apis: () => readonly Pick<OpenApi, 'routes' | 'describe'>[],
  settings: EndpointSettings,
): Route {
  let document: Promise<string> | undefined;

  async function makeDocument(): Promise<string> {
    const { openApiDocument } = await import('./document.ts');
    const described: DescribedRoutes[] = [];
    for (const { routes, describe } of apis()) described.push({ routes, descriptions: (await describe?.()) ?? [] });
    return JSON.stringify(openApiDocument(described));
  }

  return {
    method: 'GET',
    path: '/openapi.json',
    endpoint: endpointFor(async () => {
      document ??= makeDocument().catch((error: unknown) => {
        // The next request tries again.
        document = undefined;
        throw error;
      });
      return { status: 200, headers: JSON_HEADERS, body: await document };
    }, settings),
  };
}
