/** The Responses API behind an app's own authentication, which lets running responses finish when it stops. */
import express, { type RequestHandler } from 'express';
import { chatCompletionsUpstream, responsesRouter } from 'express-open-responses';

const keys = new Set<string | undefined>(['Bearer key-of-ada', 'Bearer key-of-bob']);
const companyAuth: RequestHandler = (req, res, next) => {
  if (keys.has(req.get('authorization'))) next();
  else res.sendStatus(401);
};

const upstream = chatCompletionsUpstream({ baseURL: 'http://localhost:8000/v1', apiKey: process.env.MODEL_KEY });
const responses = responsesRouter({ upstream });

const server = express().use('/v1', companyAuth, responses).listen(3000);
process.once('SIGTERM', () => responses.drain({ server }).then(() => server.close()));
