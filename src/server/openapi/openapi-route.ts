/** `GET /openapi.json`: the document of the APIs that are served together. */
import { type EndpointSettings, endpointFor } from '../../apis/endpoint/endpoint.ts';
import type { Route } from '../../apis/endpoint/routes.ts';
import { JSON_HEADERS } from '../../protocol/reply.ts';
import { type DescribedApi, neighboursFor } from './described-routers.ts';
import type { DescribedRoutes } from './document.ts';

/** Below the mount point. */
export const DOCUMENT_PATH = '/openapi.json';
/** Documents that are kept: one router may be mounted at several places, beside others at each. */
const MAX_DOCUMENTS = 8;

/** A document that was made. */
interface MadeDocument {
  readonly apis: readonly DescribedApi[];
  readonly text: Promise<string>;
}

/** The route over these APIs and their neighbours. Nothing is loaded or made before its first request, which every later one is answered like. */
export function openApiRoute(apis: () => readonly DescribedApi[], settings: EndpointSettings): Route {
  let documents: readonly MadeDocument[] = [];

  async function makeDocument(all: readonly DescribedApi[]): Promise<string> {
    const { openApiDocument } = await import('./document.ts');
    const described: DescribedRoutes[] = [];
    for (const { routes, describe } of all) described.push({ routes, descriptions: (await describe?.()) ?? [] });
    return JSON.stringify(openApiDocument(described));
  }

  function documentFor(all: readonly DescribedApi[]): Promise<string> {
    const made = documents.find(
      (each) => each.apis.length === all.length && each.apis.every((api, index) => api === all[index]),
    );
    if (made) return made.text;
    const text = makeDocument(all);
    const document = { apis: all, text };
    documents = [document, ...documents].slice(0, MAX_DOCUMENTS);
    text.catch(() => {
      // The next request tries again.
      documents = documents.filter((each) => each !== document);
    });
    return text;
  }

  return {
    method: 'GET',
    path: DOCUMENT_PATH,
    endpoint: endpointFor(async ({ request }) => {
      const body = await documentFor([...new Set([...apis(), ...neighboursFor(request)])]);
      return { status: 200, headers: JSON_HEADERS, body };
    }, settings),
  };
}
