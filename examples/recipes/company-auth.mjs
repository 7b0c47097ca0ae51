/** Users of a company: each sees their own responses, and only some have a tool. */
import express from 'express';
import { chatCompletionsRouter, chatCompletionsUpstream, functionTools, responsesRouter } from 'express-open-responses';
import passport from 'passport';

const users = new Map([
  ['Bearer key-of-ada', { id: 'ada', team: 'support' }],
  ['Bearer new-key-of-ada', { id: 'ada', team: 'support' }],
  ['Bearer key-of-bob', { id: 'bob', team: 'sales' }],
]);

// Any strategy does: what counts is that it sets `req.user`.
passport.use('company', {
  authenticate(req) {
    const user = users.get(req.get('authorization'));
    if (user) this.success(user);
    else this.fail('Bearer');
  },
});

const refunds = functionTools({
  refund: {
    description: 'Pays an order back.',
    parameters: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
    execute: ({ order }, { request }) => `${request.user.id} has paid order ${order} back.`,
  },
});

const options = {
  upstream: chatCompletionsUpstream({ baseURL: process.env.UPSTREAM_BASE_URL ?? 'http://localhost:8000/v1' }),
  scope: (req) => req.user.id,
  tools: (req) => (req.user.team === 'support' ? [refunds] : []),
};

const app = express();
app.use('/v1', passport.authenticate('company', { session: false }));
app.use('/v1', responsesRouter(options), chatCompletionsRouter(options));

export const server = app.listen(process.env.PORT ?? 3000);
