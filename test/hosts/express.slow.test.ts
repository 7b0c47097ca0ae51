/** The suite of the hosts on Express: the routers. */
import { createServer } from 'node:http';
import express, { type Request } from 'express';
import { chatCompletionsRouter, responsesRouter } from 'express-open-responses';
import { type Host, TENANT } from './host.ts';
import { hostSuite } from './host-suite.ts';

const host: Host = {
  name: 'Express',
  mount({ options, byTenant }) {
    const scope = byTenant ? (req: Request) => String(req.get(TENANT)) : undefined;
    const routers = [responsesRouter, chatCompletionsRouter].map((router) => router({ ...options, scope }));
    const app = express().use('/v1', ...routers);
    app.use((_req, res) => void res.status(404).send('Not Found'));
    return {
      server: createServer(app),
      drain: async (drainOptions) => void (await Promise.all(routers.map((router) => router.drain(drainOptions)))),
    };
  },
  // The cast: what the router hands on is Express's own request.
  headerOf: (request, name) => (request as Request).get(name),
  unknownPath: { status: 404, text: 'Not Found' },
  printsOfCutOff: [],
  printsOfBroken: [],
};

hostSuite(host);
