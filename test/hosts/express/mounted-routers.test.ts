/** `GET /openapi.json` where several routers are mounted at one place: one document of all that the request would reach. */
import { validate } from '@readme/openapi-parser';
import express, { type RequestHandler } from 'express';
import { filesRouter, memoryFiles } from '../../../src/files.ts';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  memoryStore,
  messagesRouter,
  openResponses,
  passThroughRouter,
  responsesRouter,
} from '../../../src/index.ts';
import { mcpRouter } from '../../../src/mcp.ts';
import { tracesRouter } from '../../../src/traces.ts';
import { listening } from '../../support/listening.ts';

const upstream = chatCompletionsUpstream({ baseURL: 'http://127.0.0.1:1/v1', apiKey: 'none' });
const options = { upstream, store: memoryStore(), logger: false } as const;
const files = memoryFiles();
const receiver = { receiveTraces: () => {} };
const admit: RequestHandler = (_req, _res, next) => next();
const admitOthers: RequestHandler = (req, res, next) => (req.get('x-admin') ? next() : res.sendStatus(403));

afterAll(() => upstream.close?.());

/** The paths that are told of below each of these places. */
async function pathsAt(app: ReturnType<typeof express>, ...places: readonly string[]) {
  const { url, close } = await listening(app);
  const documents = await Promise.all(
    places.map(async (place) => {
      const response = await fetch(`${url}${place}/openapi.json`);
      // The cast: its form is what the validator checks.
      const document = (await response.json()) as { readonly paths: Record<string, unknown> };
      expect(await validate(structuredClone(document) as never)).toMatchObject({ valid: true, warnings: [] });
      return Object.keys(document.paths);
    }),
  );
  await close();
  return documents;
}

/** The first paths of the APIs that are told of. */
const FIRST = ['/responses', '/chat/completions', '/messages', '/files', '/traces/ingest', '/mcp', '/embeddings'];
const firstsIn = (paths: readonly string[] = []) => FIRST.filter((path) => paths.includes(path));

describe('GET /openapi.json of routers that are mounted together', () => {
  it('[E-15] has the paths of all of them, whether they are mounted in one call or in several', async () => {
    const app = express();
    app.use('/v1', admit, responsesRouter(options), chatCompletionsRouter(options));
    app.use('/v1', messagesRouter(options), filesRouter({ files }));
    app.use('/v1', tracesRouter({ receivers: [receiver] }), mcpRouter({ tools: [] }), passThroughRouter(options));
    const [paths] = await pathsAt(app, '/v1');
    expect(firstsIn(paths)).toEqual(FIRST);
    expect(paths).not.toContain('/openapi.json');
  });

  it('[E-15] is of one place: what is mounted elsewhere is not in it', async () => {
    const responses = responsesRouter(options);
    const app = express();
    app.use('/v1', responses).use('/files', filesRouter({ files })).use('/v1', messagesRouter(options));
    app.use('/:tenant/v2', responses, tracesRouter({ receivers: [receiver] }));
    const documents = await pathsAt(app, '/v1', '/files', '/ada/v2', '/v1');
    expect(documents.map(firstsIn)).toEqual([
      ['/responses', '/messages'],
      ['/files'],
      ['/responses', '/traces/ingest'],
      ['/responses', '/messages'],
    ]);
  });

  it('[E-15] knows routers and apps of the host in which they are mounted', async () => {
    const inner = express.Router().use(responsesRouter(options)).use('/', filesRouter({ files }));
    const app = express()
      .use('/api/v1', inner)
      .use('/api', express.Router().use('/v1', messagesRouter(options)));
    const sub = express().use('/v1', responsesRouter(options), filesRouter({ files }));
    const documents = await pathsAt(app.use('/sub', sub), '/api/v1', '/sub/v1');
    expect(documents.map(firstsIn)).toEqual([
      ['/responses', '/messages', '/files'],
      ['/responses', '/files'],
    ]);
  });

  it('[E-15] leaves out what stands behind a handler that does not stand before the first router, too', async () => {
    const app = express();
    app.use('/v1', admit, responsesRouter(options));
    app.use('/v1', admit, filesRouter({ files }));
    app.use('/v2', admitOthers);
    app.use('/v1', admitOthers, mcpRouter({ tools: [] }));
    app.use('/v1', messagesRouter(options));
    const [paths] = await pathsAt(app, '/v1');
    expect(firstsIn(paths)).toEqual(['/responses', '/files']);
  });

  it('[E-15] has openResponses among them, and leaves out what has `openapi: false`', async () => {
    const app = express();
    app.use('/v1', filesRouter({ files }), tracesRouter({ receivers: [receiver], openapi: false }));
    app.use('/v1', openResponses(options).router, mcpRouter({ tools: [] }));
    app.use('/v2', responsesRouter({ ...options, openapi: false }), openResponses(options).router);
    app.use('/v2', mcpRouter({ tools: [] }));
    const documents = await pathsAt(app, '/v1', '/v2');
    expect(documents.map(firstsIn)).toEqual([
      ['/responses', '/chat/completions', '/messages', '/files', '/mcp'],
      ['/responses', '/chat/completions', '/messages', '/mcp'],
    ]);
    expect(documents.map((paths) => paths.includes('/openapi.json'))).toEqual([false, false]);
  });

  it('[E-15] describes what is passed on as far as it is known', async () => {
    const paths = ['POST /embeddings', '/batches', '/things/*', 'PUT /things'];
    const app = express().use('/v1', responsesRouter(options), passThroughRouter({ ...options, paths }));
    const { url, close } = await listening(app);
    const document = (await (await fetch(`${url}/v1/openapi.json`)).json()) as {
      readonly paths: Record<string, Record<string, { operationId: string; responses: Record<string, unknown> }>>;
    };
    await close();
    const told = Object.entries(document.paths).map(([path, methods]) => `${Object.keys(methods).toSorted()} ${path}`);
    expect(told).toEqual(
      expect.arrayContaining([
        'post /embeddings',
        'delete,get,post /batches',
        'delete,get,post /things/{path}',
        'put /things',
      ]),
    );
    expect(document.paths['/embeddings']?.post).toMatchObject({ operationId: 'createEmbedding', tags: ['Passed on'] });
  });

  it('[E-15] answers with its own paths where the app does not show what is mounted', async () => {
    const router = responsesRouter(options);
    const app = express().use('/v1', (req, res, next) => router(req, res, next), filesRouter({ files }));
    expect((await pathsAt(app, '/v1')).map(firstsIn)).toEqual([['/responses']]);
  });
});
