/** The OpenAI API at /v1 of an Express app, behind the app's own authentication; the same on Express 4 and 5. */
import express, { type RequestHandler } from 'express';
import { openResponses } from 'express-open-responses';

const users = new Map([
  ['Bearer key-of-ada', 'ada'],
  ['Bearer key-of-bob', 'bob'],
]);
const authenticate: RequestHandler = (req, res, next) => {
  res.locals.user = users.get(req.get('authorization') ?? '');
  if (res.locals.user) next();
  else
    res
      .status(401)
      .json({ error: { message: 'Unknown API key.', type: 'invalid_request_error', code: null, param: null } });
};

const api = openResponses({ scope: (req: express.Request): string => req.res?.locals.user });

const app = express();
app.use('/v1', authenticate, api.router);
// After the APIs, which accept larger bodies than this parser does.
app.use(express.json());

const server = app.listen(process.env.PORT ?? 3000);
process.once('SIGTERM', () => void api.close({ server }));
