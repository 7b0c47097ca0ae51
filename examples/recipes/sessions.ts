/** Cookie sessions: a page of the app calls the API as the user who is logged in. */
import { randomBytes } from 'node:crypto';
import express, { type Request } from 'express';
import { chatCompletionsUpstream, responsesRouter } from 'express-open-responses';
import session from 'express-session';

declare module 'express-session' {
  interface SessionData {
    userId: string;
  }
}

const passwords = new Map([
  ['ada', 'password-of-ada'],
  ['bob', 'password-of-bob'],
]);
const secret = process.env.SESSION_SECRET ?? randomBytes(32).toString('base64');
const upstream = chatCompletionsUpstream({ baseURL: process.env.UPSTREAM_BASE_URL ?? 'http://localhost:8000/v1' });

function userOf({ session: { userId } }: Request): string {
  // The check below has refused everyone else: users who share a scope would see each other's responses.
  if (!userId) throw new Error('Nobody is logged in.');
  return userId;
}

const app = express();
app.use(session({ secret, resave: false, saveUninitialized: false, cookie: { sameSite: 'lax', secure: 'auto' } }));

app.post('/login', express.json(), (req, res, next) => {
  const { user, password } = req.body;
  if (typeof user !== 'string' || passwords.get(user) !== password) return void res.sendStatus(401);
  // A new session id, so that nobody can prepare one for a user who logs in later.
  req.session.regenerate((error) => {
    if (error) return next(error);
    req.session.userId = user;
    res.sendStatus(204);
  });
});

app.use('/v1', (req, res, next) => {
  if (req.session.userId) return next();
  res.status(401).json({ error: { message: 'Log in first.', code: 'invalid_api_key' } });
});
app.use('/v1', responsesRouter({ upstream, scope: userOf }));

export const server = app.listen(process.env.PORT ?? 3000);
