/** The Responses API behind an app's own authentication, stopped with care. */
import express from 'express';
import { chatCompletionsUpstream, responsesRouter } from 'express-open-responses';

const keys = new Set(['Bearer key-of-ada', 'Bearer key-of-bob']);
const companyAuth = (req, res, next) => (keys.has(req.get('authorization')) ? next() : res.sendStatus(401));

const upstream = chatCompletionsUpstream({ baseURL: 'http://localhost:8000/v1', apiKey: process.env.MODEL_KEY });
const responses = responsesRouter({ upstream });

const server = express().use('/v1', companyAuth, responses).listen(3000);
process.once('SIGTERM', () => responses.drain({ server }).then(() => server.close()));
