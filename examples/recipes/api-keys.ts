/** API keys of users: a user may have several keys or replace one, and keeps their responses. */
import { createHash } from 'node:crypto';
import express, { type Request, type RequestHandler } from 'express';
import { chatCompletionsUpstream, responsesRouter } from 'express-open-responses';

/** What the router receives: a request that `apiKeys` has let pass. */
interface UserRequest extends Request {
  readonly userId: string;
}

const digest = (key: string) => createHash('sha256').update(key).digest('hex');

// A table of your database, with digests of the keys, so that a leaked table does not leak the keys.
const users = new Map([
  [digest('key-of-ada'), 'ada'],
  [digest('new-key-of-ada'), 'ada'],
  [digest('key-of-bob'), 'bob'],
]);

const apiKeys: RequestHandler = (req, res, next) => {
  // Anthropic's clients send `x-api-key`, all others a bearer token.
  const key = req.get('x-api-key') ?? req.get('authorization')?.replace(/^Bearer /, '') ?? '';
  const userId = users.get(digest(key));
  if (userId === undefined)
    return void res.status(401).json({ error: { message: 'Unknown API key.', code: 'invalid_api_key' } });
  Object.assign(req, { userId });
  next();
};

const upstream = chatCompletionsUpstream({ baseURL: process.env.UPSTREAM_BASE_URL ?? 'http://localhost:8000/v1' });

const app = express();
app.use('/v1', apiKeys, responsesRouter<UserRequest>({ upstream, scope: ({ userId }) => userId }));

export const server = app.listen(process.env.PORT ?? 3000);
