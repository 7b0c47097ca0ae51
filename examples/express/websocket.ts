/** All APIs over HTTP, and the Responses API over a WebSocket too, with the same keys; running responses finish when it stops. */
import type { IncomingMessage } from 'node:http';
import express, { type RequestHandler } from 'express';
import { chatCompletionsUpstream, openResponses } from 'express-open-responses';
import { attachResponsesWebSocket } from 'express-open-responses/websocket';

const keys = new Set<string | undefined>(['Bearer key-of-ada', 'Bearer key-of-bob']);
const isKnown = ({ headers }: IncomingMessage) => keys.has(headers.authorization);
const companyAuth: RequestHandler = (req, res, next) => {
  if (isKnown(req)) next();
  else res.sendStatus(401);
};

const upstream = chatCompletionsUpstream({ baseURL: 'http://localhost:8000/v1', apiKey: process.env.MODEL_KEY });
const api = openResponses({ upstream });

const server = express().use('/v1', companyAuth, api.router).listen(3000);
attachResponsesWebSocket(server, api, {
  authorize: (request) => isKnown(request) || { status: 401, message: 'Incorrect API key provided.' },
});

process.once('SIGTERM', () => void api.close({ server }));
