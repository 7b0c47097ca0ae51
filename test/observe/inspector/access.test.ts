/** Who may see the inspector, and what its answers allow a browser to do. */
import type { IncomingMessage } from 'node:http';
import { networkInterfaces } from 'node:os';
import express from 'express';
import request from 'supertest';
import { createInspector, type InspectorOptions } from '../../../src/observe/inspector/index.ts';
import { listening } from '../../support/listening.ts';
import { itWhere } from '../../support/skipping.ts';

const LIST = '/inspect/api/responses';

function appWith(options: InspectorOptions = {}) {
  return express().use('/inspect', createInspector(options).router);
}

/** An address of this machine that is not the loopback. */
const ownAddress = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

describe('createInspector without authorize', () => {
  it.each(['localhost', 'localhost:3000', '127.0.0.1:3000', '[::1]:3000', 'app.localhost'])(
    '[X-10] answers this machine under the name %s',
    async (host) => {
      await request(appWith()).get(LIST).set('host', host).expect(200);
    },
  );

  it.each(['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example:80', '192.168.0.1', '::1', '[::1', ''])(
    '[X-10] refuses a request whose Host is %j, whose name may have been pointed here',
    async (host) => {
      const { text } = await request(appWith()).get(LIST).set('host', host).expect(403);
      expect(text).toMatch(/own machine only.*authorize.*behindAuth/s);
    },
  );

  it.each(['x-forwarded-for', 'x-forwarded-proto', 'forwarded', 'x-real-ip', 'via', 'cf-connecting-ip', 'x-client-ip'])(
    '[X-10] refuses a request that came through a proxy, by its header %s, whatever the header says',
    async (name) => {
      await request(appWith()).get(LIST).set('host', 'localhost').set(name, '127.0.0.1').expect(403);
    },
  );

  itWhere(ownAddress !== undefined, 'this machine has the loopback address alone')(
    '[X-10] refuses another address, whatever name it is called by',
    async () => {
      const server = appWith().listen(0);
      const { port } = server.address() as { port: number };
      const answer = await request(`http://${ownAddress}:${port}`).get(LIST).set('host', 'localhost');
      server.close();
      expect(answer.status).toBe(403);
    },
  );
});

describe('the data of the inspector', () => {
  const others = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example' },
    { origin: 'http://localhost:9999' },
    { origin: 'null' },
  ];

  it.each(others)(
    '[X-10] is refused to a page of another origin, also where the host has CORS for its whole app: %j',
    async (headers) => {
      const open: express.RequestHandler = (_req, res, next) =>
        void next(res.set('access-control-allow-origin', '*') && undefined);
      const app = express()
        .use(open)
        .use('/inspect', createInspector({ behindAuth: true, playground: true }).router);
      await request(app).get(LIST).set('host', 'localhost:3000').set(headers).expect(403);
      const run = request(app).post('/inspect/api/tools/run').set('host', 'localhost:3000').set(headers);
      await run.send({ server: 'functions', name: 'now', arguments: {} }).expect(403);
    },
  );

  it.each([
    {},
    { 'sec-fetch-site': 'same-origin' },
    { 'sec-fetch-site': 'none' },
    { origin: 'http://localhost:3000' },
    // Behind a proxy that changes the name.
    { 'sec-fetch-site': 'same-origin', origin: 'https://company.example' },
  ])('[X-10] is there for its own page: %j', async (headers) => {
    await request(appWith()).get(LIST).set('host', 'localhost:3000').set(headers).expect(200);
  });

  it('[X-10] has a document that a link of another site may lead to', async () => {
    const app = appWith({ behindAuth: true });
    await request(app).get('/inspect/').set('sec-fetch-site', 'cross-site').expect(200);
  });
});

describe('createInspector with authorize', () => {
  it('[X-10] asks the host for each request, its data included', async () => {
    const authorize = async ({ headers }: IncomingMessage) => headers.authorization === 'me';
    const app = appWith({ authorize });
    for (const path of ['/inspect/', '/inspect/app.js', LIST, '/inspect/api/live']) {
      await request(app).get(path).set('host', 'company.example').expect(403);
    }
    await request(app).get(LIST).set('host', 'company.example').set('authorization', 'me').expect(200);
  });

  it('[X-10] admits nobody for an answer that is no decision', async () => {
    // The cast: JavaScript has no types.
    const authorize = () => 'yes' as unknown as boolean;
    await request(appWith({ authorize })).get(LIST).expect(500);
  });

  it('[X-10] passes what it throws to the error handler of the host', async () => {
    const authorize = () => {
      throw new Error('no session store');
    };
    await request(appWith({ authorize })).get(LIST).expect(500);
  });

  it('[X-10] answers everyone behind the authentication of the host', async () => {
    await request(appWith({ behindAuth: true }))
      .get(LIST)
      .set('host', 'company.example')
      .expect(200);
  });
});

describe('the answers of the inspector', () => {
  it('[X-10] allow a browser nothing but its own files, and no other page to frame or read them', async () => {
    const { headers } = await request(appWith()).get(LIST).expect(200);
    expect(headers).toMatchObject({
      'content-security-policy': expect.stringContaining(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'",
      ),
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'cache-control': 'no-store',
    });
    expect(headers).not.toHaveProperty('access-control-allow-origin');
  });

  it.each(['post', 'put', 'delete', 'patch', 'options'] as const)(
    '[X-10] change nothing: %s is refused',
    async (method) => {
      await request(appWith())[method](LIST).expect(405).expect('allow', 'GET, HEAD');
    },
  );

  it.each([
    '/inspect/../package.json',
    '/inspect/%2e%2e/package.json',
    '/inspect/..%2fpackage.json',
    '/inspect/__proto__',
    '/inspect//x',
    '/inspect/api/nothing',
    '/inspect/api/responses/1e3',
  ])('[X-10] are 404 for %s', async (path) => {
    await request(appWith()).get(path).expect(404);
  });

  it('[X-10] send a browser to the folder, from which links are relative', async () => {
    await request(appWith()).get('/inspect?x=1').expect(308).expect('location', './inspect/');
  });

  it('[X-10] come from Node without a framework, too', async () => {
    const { url, close } = await listening(createInspector().router);
    const response = await fetch(`${url}/api/responses`);
    expect([response.status, await response.json()]).toMatchObject([200, { rows: [] }]);
    await close();
  });
});

describe('the options of createInspector', () => {
  it.each<[string, object]>([
    ["unknown option 'auth'", { auth: true }],
    ['maxResponses must be a positive whole number, got 0', { maxResponses: 0 }],
    ['maxBytes must be a whole number from 1048576, got 5', { maxBytes: 5 }],
    ['bodyCharacters must be a positive whole number', { bodyCharacters: -1 }],
    ['behindAuth admits every request', { behindAuth: true, authorize: () => true }],
    ['playground must be true, false or', { playground: { path: 'https://evil.example' } }],
    ['redact must be a function', { redact: true }],
  ])('[X-10] are checked: %s', (message, options) => {
    expect(() => createInspector(options)).toThrow(message);
  });
});
