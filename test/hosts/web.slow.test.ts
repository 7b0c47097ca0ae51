/** The suite of the hosts on the Web handler, in Hono on Node's HTTP server. */
import type { Server } from 'node:http';
import { createAdaptorServer } from '@hono/node-server';
import { openResponses } from 'express-open-responses/core';
import { Hono } from 'hono';
import { type Host, TENANT } from './host.ts';
import { hostSuite } from './host-suite.ts';

const host: Host = {
  name: 'Web handler',
  mount({ options, byTenant }) {
    const scope = byTenant ? ({ headers }: Request) => String(headers.get(TENANT)) : undefined;
    const api = openResponses({ ...options, scope, basePath: '/v1' });
    const app = new Hono().all('/v1/*', ({ req }) => api.fetch(req.raw));
    // The cast: without further options it makes a server of HTTP/1.
    return { server: createAdaptorServer({ fetch: app.fetch }) as Server, drain: api.drain };
  },
  // The cast: what the handler hands on is the Web's own request.
  headerOf: (request, name) => (request as Request).headers.get(name),
  unknownPath: {
    status: 404,
    text: '{"error":{"message":"Invalid URL (GET /v1/unknown)","type":"invalid_request_error","param":null,"code":"not_found"}}',
  },
  printsOfCutOff: ['Error: The client was cut off: it does not read.'],
  printsOfBroken: [expect.stringContaining('BigInt')],
};

hostSuite(host);
