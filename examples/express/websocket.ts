/** The Responses API over HTTP and WebSocket, with the same keys; running responses finish when it stops. */
import type { IncomingMessage } from 'node:http';
import express, { type RequestHandler } from 'express';
import { chatCompletionsUpstream, responsesRouter } from 'express-open-responses';
import { attachResponsesWebSocket } from 'express-open-responses/websocket';

const keys = new Set<string | undefined>(['Bearer key-of-ada', 'Bearer key-of-bob']);
const isKnown = ({ headers }: IncomingMessage) => keys.has(headers.authorization);
const companyAuth: RequestHandler = (req, res, next) => {
  if (isKnown(req)) next();
  else res.sendStatus(401);
};

const upstream = chatCompletionsUpstream({ baseURL: 'http://localhost:8000/v1', apiKey: process.env.MODEL_KEY });
const responses = responsesRouter({ upstream });

const server = express().use('/v1', companyAuth, responses).listen(3000);
const webSocket = attachResponsesWebSocket(server, {
  upstream,
  authorize: (request) => (isKnown(request) ? undefined : { status: 401, message: 'Incorrect API key provided.' }),
});

process.once('SIGTERM', async () => {
  await Promise.all([responses.drain({ server }), webSocket.drain({ server })]);
  server.close();
});
