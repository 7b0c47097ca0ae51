/** The OpenAI API at /v1 of a NestJS app on Express, behind authentication by the app's own service. */
import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Request, RequestHandler } from 'express';
import { openResponses } from 'express-open-responses';

@Injectable()
class Users {
  readonly #keys = new Map([
    ['Bearer key-of-ada', 'ada'],
    ['Bearer key-of-bob', 'bob'],
  ]);

  find(authorization = ''): string | undefined {
    return this.#keys.get(authorization);
  }
}

@Module({ providers: [Users] })
class AppModule {}

const authenticate =
  (users: Users): RequestHandler =>
  (req, res, next) => {
    res.locals.user = users.find(req.get('authorization'));
    if (res.locals.user) next();
    else
      res
        .status(401)
        .json({ error: { message: 'Unknown API key.', type: 'invalid_request_error', code: null, param: null } });
  };

const api = openResponses({ scope: (req: Request): string => req.res?.locals.user });

const app = await NestFactory.create(AppModule);
// Before init(), so that Nest's body parsers come after it. Guards and interceptors belong to controllers and do not run here.
app.use('/v1', authenticate(app.get(Users)), api.router);
await app.listen(process.env.PORT ?? 3000);

process.once('SIGTERM', () => api.close({ server: app.getHttpServer() }).then(() => app.close()));
