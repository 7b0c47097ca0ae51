/** Bearer tokens (JWT) of an identity provider: the subject of the token is the tenant. */
import express, { type Request, type RequestHandler } from 'express';
import { chatCompletionsUpstream, responsesRouter } from 'express-open-responses';
import { createRemoteJWKSet, jwtVerify } from 'jose';

/** What the router receives: a request that `bearerTokens` has let pass. */
interface UserRequest extends Request {
  readonly userId: string;
}

const issuer = process.env.TOKEN_ISSUER ?? 'https://login.example.com/';
const audience = process.env.TOKEN_AUDIENCE ?? 'model-api';
// Your provider's `jwks_uri`. The keys are fetched when they are needed, and again when the provider changes them.
const providerKeys = createRemoteJWKSet(new URL('.well-known/jwks.json', issuer));

const bearerTokens: RequestHandler = async (req, res, next) => {
  const token = req.get('authorization')?.replace(/^Bearer /, '') ?? '';
  const verified = await jwtVerify(token, providerKeys, { issuer, audience, requiredClaims: ['sub', 'exp'] }).catch(
    () => undefined,
  );
  if (!verified) return void res.status(401).json({ error: { message: 'Invalid token.', code: 'invalid_api_key' } });
  Object.assign(req, { userId: verified.payload.sub });
  next();
};

const upstream = chatCompletionsUpstream({ baseURL: process.env.UPSTREAM_BASE_URL ?? 'http://localhost:8000/v1' });

const app = express();
app.use('/v1', bearerTokens, responsesRouter<UserRequest>({ upstream, scope: ({ userId }) => userId }));

export const server = app.listen(process.env.PORT ?? 3000);
