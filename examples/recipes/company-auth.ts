/** Users of a company: each sees their own responses, and only some have a tool. */
import express from 'express';
import {
  chatCompletionsUpstream,
  type ExecuteContext,
  functionTools,
  type HostRequest,
  type OpenResponsesOptions,
  openResponses,
} from 'express-open-responses';
import passport from 'passport';

interface Employee {
  readonly id: string;
  readonly team: string;
}
/** What comes over HTTP: a request behind `passport.authenticate`. */
interface EmployeeRequest extends HostRequest {
  user: Employee;
}

const users = new Map<string | undefined, Employee>([
  ['Bearer key-of-ada', { id: 'ada', team: 'support' }],
  ['Bearer new-key-of-ada', { id: 'ada', team: 'support' }],
  ['Bearer key-of-bob', { id: 'bob', team: 'sales' }],
]);

// Any strategy that sets `req.user` will do.
passport.use('company', {
  authenticate(req) {
    const user = users.get(req.get('authorization'));
    if (user) this.success(user);
    else this.fail('Bearer');
  },
});

const refunds = functionTools({
  refund: {
    description: 'Refunds an order.',
    parameters: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
    execute: ({ order }: { readonly order: string }, { request }: ExecuteContext<EmployeeRequest>) =>
      `${request.user.id} has refunded order ${order}.`,
  },
});

const options: OpenResponsesOptions<EmployeeRequest> = {
  upstream: chatCompletionsUpstream({ baseURL: process.env.UPSTREAM_BASE_URL ?? 'http://localhost:8000/v1' }),
  scope: (req) => req.user.id,
  tools: (req) => (req.via === 'http' && req.user.team === 'support' ? [refunds] : []),
};

const app = express();
app.use('/v1', passport.authenticate('company', { session: false }));
app.use('/v1', openResponses(options).router);

export const server = app.listen(process.env.PORT ?? 3000);
