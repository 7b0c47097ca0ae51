/** A host's own request type reaches every function that it passes, by annotation or by type argument, without casts. */
import express, { type Request, type Response } from 'express';
import {
  type AnyRequest,
  type ApprovalPolicy,
  chatCompletionsRouter,
  type DialectOf,
  type ExecuteContext,
  functionTool,
  functionTools,
  type HostRequest,
  injectTools,
  loadHistory,
  type NodeHandler,
  openResponses,
  type RouterOptions,
  recordTurn,
  responsesRouter,
  runTools,
  type ToolCall,
  type ToolProvider,
  type ToolsOf,
  validateMessages,
} from 'express-open-responses';
import { openResponses as openWithoutExpress } from 'express-open-responses/core';
import { pii } from 'express-open-responses/guards';
import { mcpTools } from 'express-open-responses/mcp';
import { attachResponsesWebSocket } from 'express-open-responses/websocket';

interface User {
  readonly id: string;
  readonly orders: readonly string[];
}
interface UserRequest extends Request {
  user: User;
}

const none: readonly ToolProvider[] = [];
const app = express();

// By the annotation of one callback.
app.use('/a', responsesRouter({ scope: (req: UserRequest) => req.user.id }));
app.use('/b', responsesRouter({ tools: (req: UserRequest) => (req.user.id === 'root' ? [] : none) }));
app.use('/c', chatCompletionsRouter({ dialect: (req: UserRequest) => (req.user.id ? 'openai' : 'vllm-responses') }));
app.use(
  '/d',
  responsesRouter({ approval: ({ request }: { readonly request: UserRequest }) => request.user.id === '' }),
);

// By the type argument.
app.use(
  '/e',
  responsesRouter<UserRequest>({
    scope: (req) => req.user.id,
    dialect: (req) => (req.get('x-dialect') === 'vllm' ? 'vllm-responses' : 'openai'),
    tools: (req) => (req.user.orders.length > 0 ? none : []),
    approval: ({ request, name }) => request.user.id !== name,
  }),
);

// Without either, it is Express' request.
app.use('/f', responsesRouter({ scope: (req) => req.get('x-user') ?? 'nobody', tools: (req) => (req.ip ? none : []) }));

// The tools of a host that wants its request.
const orders = functionTools({
  list: { execute: (_: object, { request }: ExecuteContext<UserRequest>) => request.user.orders },
  count: functionTool({
    parameters: { type: 'object', properties: { most: { type: 'number' } }, required: ['most'] },
    execute: ({ most }, { request, scope, signal }: ExecuteContext<UserRequest>) =>
      Math.min(most, request.user.orders.length) + scope.length + Number(signal.aborted),
  }),
});
const byArgument = functionTools<UserRequest>({ whoami: { execute: (_, { request }) => request.user.id } });
const own: ToolProvider<UserRequest> = {
  name: 'own',
  list: () => [{ server: 'own', name: 'me' }],
  call: async ({ request }: ToolCall<UserRequest>) => ({ content: request.user.id }),
};
app.use('/g', responsesRouter({ scope: (req: UserRequest) => req.user.id, tools: [orders, byArgument, own] }));
app.use('/h', responsesRouter({ tools: orders }));
app.use(
  '/i',
  responsesRouter<UserRequest>({ tools: () => [orders, functionTools({ now: { execute: () => Date.now() } })] }),
);

// Options in one object, for routers and middlewares.
const options: RouterOptions<UserRequest> = { scope: (req) => req.user.id, tools: [orders] };
const policy: ApprovalPolicy<UserRequest> = ({ request }) => request.user.id !== '';
const dialect: DialectOf<UserRequest> = (req) => (req.user.id ? 'openai' : 'tokligence');
const tools: ToolsOf<UserRequest> = (req) => (req.user.id ? [orders] : []);
app.use('/j', responsesRouter({ ...options, approval: policy, dialect, tools }));
app.post(
  '/k',
  validateMessages(),
  loadHistory<UserRequest>({ scope: (req) => req.user.id }),
  injectTools({ scope: (req: UserRequest) => req.user.id, tools: [orders] }),
);
app.post(
  '/l',
  injectTools({ scope: (req: Request) => req.get('x-user') ?? '' }),
  recordTurn<Request>({ scope: (req) => req.ip ?? '' }),
);

// Handlers of the host's, as they are written for Express, Connect and Node.
app.post(
  '/m',
  runTools({ tools: none, handler: (req: Request, res: Response) => void res.json({ for: req.get('x-user') }) }),
);
app.post(
  '/n',
  runTools<Request, Response>({ tools: none, handler: (req, res, next) => (req.ip ? void res.json({}) : next()) }),
);
app.post('/o', runTools({ tools: none, handler: (req, res) => void res.end(req.url) }));
app.post('/p', runTools({ tools: none, handler: express.Router() }));
app.post('/q', runTools({ tools: none, handler: app }));
export const handler: NodeHandler<Request, Response> = (req, res) => void res.json(req.body);

// All APIs in one call, whose functions learn how a request came.
export const whole = openResponses({
  scope: (req: UserRequest) => req.user.id,
  tools: (request) => (request.via === 'http' && request.user.id ? [orders] : none),
  approval: ({ request }) => request.via === 'websocket' && request.url === '/',
  dialect: ({ headers }) => (headers['x-dialect'] ? 'vllm-responses' : 'openai'),
});
app.use('/r', whole.router);
attachResponsesWebSocket(app.listen(0), whole, {
  authorize: ({ headers }) => (headers.authorization ? { scope: headers.authorization } : false),
});
export const plain = openResponses({ scope: (req) => req.get('x-user') ?? '' });
export const withTools = openResponses({ tools: none, scope: (req) => req.get('x-user') ?? '' });
export const withListedTools = openResponses({ tools: [none].flat(), scope: (req) => req.get('x-user') ?? '' });
export const withServers = openResponses({ tools: mcpTools(), scope: (req) => req.get('x-user') ?? '' });
export const withFunctions = openResponses({
  tools: functionTools({ now: { execute: () => Date.now() } }),
  approval: ({ request }) => request.via === 'websocket',
  scope: (req) => req.get('x-user') ?? '',
});
export const withChosenTools = openResponses({
  tools: ({ headers }) => (headers['x-user'] ? [mcpTools()] : none),
  scope: (req) => req.get('x-user') ?? '',
});
export const withToolsAtOnce = openResponses({ tools: () => [mcpTools()], scope: (req) => req.get('x-user') ?? '' });
const guards = { input: [pii()] };
export const withGuards = openResponses({ tools: none, guards, scope: (req) => req.get('x-user') ?? '' });
export const withToolsOfUsers = openResponses({
  tools: orders,
  scope: (req: UserRequest) => req.user.id,
});
export const withoutScope = openResponses({
  tools: (request: AnyRequest<UserRequest>) => (request.via === 'http' && request.user.id ? none : []),
});
export const restored = (request: AnyRequest<HostRequest>): unknown =>
  request.via === 'restored' ? request.body : request.url;

// Other hosts.
export const web = openWithoutExpress({
  scope: (request) => request.headers.get('x-user') ?? '',
  tools: (request) => (request.via === 'http' && request.headers.get('x-user') ? none : []),
}).fetch;
export const webWithAnyTools = openWithoutExpress({
  tools: none,
  guards: { input: [pii()] },
  scope: (request) => request.headers.get('x-user') ?? '',
}).fetch;
export const webWithTools = openWithoutExpress({
  tools: mcpTools(),
  scope: (request) => request.headers.get('x-user') ?? '',
}).fetch;
export const webWithChosenTools = openWithoutExpress({
  tools: (request) => (request.via === 'http' && request.headers.get('x-user') ? [mcpTools()] : none),
  scope: (request) => request.headers.get('x-user') ?? '',
}).fetch;
class TenantRequest extends globalThis.Request {
  readonly tenant = 'a';
}
export const tenants = openWithoutExpress({ scope: (request: TenantRequest) => request.tenant }).fetch;
export const tenantsWithTools = openWithoutExpress({ tools: none, scope: (request: TenantRequest) => request.tenant });
export const api = openWithoutExpress<{ readonly state: User }>({
  scope: ({ state }) => state.id,
  tools: (context) => (context.via === 'http' && context.state.id ? none : []),
});
attachResponsesWebSocket(
  app.listen(0),
  { tools: (request) => (request.url ? none : []) },
  { authorize: (request) => ({ scope: request.headers.authorization ?? '' }) },
);

// What must not pass: a property that the request does not have.
// @ts-expect-error: Express' request has no such property.
responsesRouter({ scope: (req) => req.tenant });
// @ts-expect-error: nor has it where there are tools for any request.
openResponses({ tools: none, scope: (req) => req.tenant });
// @ts-expect-error: nor has the type that the host names.
responsesRouter<UserRequest>({ tools: (req) => (req.tenant ? none : []) });
// @ts-expect-error: it is another request than the one of the tenant.
responsesRouter<UserRequest>({ scope: (req: UserRequest & { readonly tenant: string }) => req.tenant });
// @ts-expect-error: a request over WebSocket, or one that another process began, has no user.
openResponses<UserRequest>({ tools: (request) => (request.user ? none : []) });
// @ts-expect-error: the upgrade request of a WebSocket is none of Express.
attachResponsesWebSocket(app.listen(0), { scope: (req: Request) => req.get('x-user') ?? '' });
// @ts-expect-error: nor is a Web request, for functions that read requests of Express.
void plain.fetch(new globalThis.Request('http://localhost/v1/models'));
app.use(loadHistory({ scope: (req) => req.get('x-user') ?? '' }));
app.post('/s', runTools<UserRequest, Response>({ tools, handler: (req, res) => void res.json(req.user) }));
export const loading: express.RequestHandler = loadHistory({ scope: (req) => req.get('x-user') ?? '' });
