/** The endpoints of the MCP server: streamable HTTP of both eras, over the transports of the SDK. */
import { randomUUID } from 'node:crypto';
import type { McpHandlerRequestOptions } from '@modelcontextprotocol/server';
import { type Activity, activity } from '../../engine/request/activity.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { requireTenant } from '../../ports/scope.ts';
import { ApiError } from '../../protocol/errors.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { type JsonReply, jsonReply, type Reply, streamReply, withHeaders } from '../../protocol/reply.ts';
import { withHeartbeats } from '../../streams/heartbeats.ts';
import { mapStream } from '../../streams/pull-stream.ts';
import { HEARTBEAT_FRAME } from '../../streams/sse-frames.ts';
import { type Envelope, endpointFor, type Handler, reportError } from '../endpoint/endpoint.ts';
import type { Route } from '../endpoint/routes.ts';
import { EventFrames } from './event-frames.ts';
import { Exchange } from './exchange.ts';
import { Session, Sessions } from './sessions.ts';
import type { McpSettings } from './settings.ts';
import { type Handed, toolsServer } from './tools-server.ts';

/** As often as the heartbeats of other streams by default. */
const HEARTBEAT_MS = 15_000;

/** Below the mount point. */
const PATH = '/mcp';
/** The SDK reads the method and the headers alone. */
const URL = `http://localhost${PATH}`;
const SESSION_HEADER = 'mcp-session-id';

/** The codes of JSON-RPC by the status of an error. */
const RPC_CODES: ReadonlyMap<number, number> = new Map([
  [404, -32_001],
  [429, -32_000],
  [503, -32_000],
]);

/** Errors as JSON-RPC has them; the code of this package is among the data. */
export function rpcEnvelope(): Envelope {
  return {
    error({ status, code, message }, requestId) {
      const rpcCode = code === 'invalid_json' ? -32_700 : (RPC_CODES.get(status) ?? (status < 500 ? -32_600 : -32_603));
      return { jsonrpc: '2.0', id: null, error: { code: rpcCode, message, data: { code, request_id: requestId } } };
    },
  };
}

/** Answers MCP clients. */
export class McpEndpoints {
  readonly routes: readonly Route[];
  readonly places: Activity;
  private readonly settings: McpSettings;
  private readonly sessions: Sessions;
  /** The newer era, whose requests need no session. */
  private readonly modern: ReturnType<McpSettings['sdk']['createMcpHandler']>;

  constructor(settings: McpSettings) {
    const { sdk, limits, host } = settings;
    this.settings = settings;
    this.sessions = new Sessions(limits);
    this.places = activity({
      concurrentTurns: limits.maxRequests,
      concurrentTurnsPerTenant: limits.maxRequestsPerScope,
      queuedTurns: 0,
      queueTimeoutMs: 1,
    });
    // Lists depend on the request and change unannounced, so there is nothing to subscribe to.
    this.modern = sdk.createMcpHandler(() => toolsServer(settings), { legacy: 'reject', maxSubscriptions: 0 });
    const on = (handler: Handler) => endpointFor(handler, { ...host, envelopeOf: rpcEnvelope });
    this.routes = [
      { method: 'POST', path: PATH, endpoint: on((request) => this.post(request)) },
      { method: 'GET', path: PATH, endpoint: on((request) => this.get(request)) },
      { method: 'DELETE', path: PATH, endpoint: on((request) => this.remove(request)) },
    ];
  }

  /** Ends what runs, and every session. */
  async close(): Promise<void> {
    this.sessions.endAll();
    await this.modern.close();
  }

  private async post(request: EndpointRequest): Promise<Reply> {
    this.refuseForeign(request.headers);
    const { body } = request;
    if (!isRecord(body)) throw new ApiError('invalid_value', 'The body must be one message of JSON-RPC, not a batch.');
    // Answers of users and notifications need no place, or those who wait for them would keep them out.
    const isRequest = typeof body.method === 'string' && body.id !== undefined;
    const exchange = isRequest ? new Exchange(request, this.places) : undefined;
    try {
      const answer = this.answer(request, body, exchange);
      const response = await this.inTime(answer);
      if (!response) return streamReply(this.filled(this.late(answer, request, exchange)));
      if (!isEventStream(response)) {
        const text = await response.text();
        exchange?.end();
        return { status: response.status, headers: sentHeaders(response), body: text };
      }
      const frames = this.filled(new EventFrames(response.body, exchange));
      return { status: response.status, headers: sentHeaders(response), body: frames };
    } catch (error) {
      exchange?.end();
      throw error;
    }
  }

  /** The answer; undefined if it takes so long that its client, or a proxy, might give up. */
  private async inTime(answer: Promise<Response>): Promise<Response | undefined> {
    const { openAfterMs } = this.settings.host.limits;
    if (openAfterMs === Number.POSITIVE_INFINITY) return answer;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), openAfterMs).unref();
    });
    try {
      return await Promise.race([answer, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** The frames of an answer whose stream was opened before it came. */
  private async *late(
    answer: Promise<Response>,
    request: EndpointRequest,
    exchange: Exchange | undefined,
  ): AsyncGenerator<string, void> {
    try {
      const response = await answer;
      if (isEventStream(response)) yield* new EventFrames(response.body, exchange);
      else yield messageFrame(await response.text());
    } catch (error) {
      const { id = null } = isRecord(request.body) ? request.body : {};
      const shown = reportError(error, request, this.settings.host);
      yield messageFrame(JSON.stringify({ ...rpcEnvelope().error(shown, request.requestId), id }));
    } finally {
      exchange?.end();
    }
  }

  /** The stream opens, and a comment fills its silence: a tool may run for minutes. */
  private filled(frames: AsyncIterable<string>): AsyncIterable<string> {
    const openAfterMs = Math.min(this.settings.host.limits.openAfterMs, HEARTBEAT_MS);
    const silence = { intervalMs: HEARTBEAT_MS, openAfterMs };
    return mapStream(withHeartbeats(frames, silence), {
      map: (piece) => (typeof piece === 'string' ? piece : HEARTBEAT_FRAME),
    });
  }

  private async answer(request: EndpointRequest, body: JsonObject, exchange: Exchange | undefined): Promise<Response> {
    const { sdk } = this.settings;
    const { headers, scope } = request;
    const signal = exchange?.signal ?? request.signal;
    const web = new Request(URL, { method: 'POST', headers, signal });
    if (!(await sdk.isLegacyRequest(web, body))) return this.modern.fetch(web, handedOn(body, exchange, undefined));
    const id = headers.get(SESSION_HEADER);
    if (id === null) return this.beginSession(web, request, body, exchange);
    const session = this.sessions.find(scope, id);
    if (!session) throw unknownSession();
    if (exchange) session.begin(body.id, exchange);
    const response = await session.transport.handleRequest(web, handedOn(body, exchange, session));
    // The SDK answers a cancelled request no more, and would leave its stream open.
    if (body.method === 'notifications/cancelled' && isRecord(body.params))
      session.open.get(body.params.requestId)?.abort(new Error('The client has cancelled the request.'));
    return response;
  }

  private async beginSession(
    web: Request,
    { scope }: EndpointRequest,
    body: JsonObject,
    exchange: Exchange | undefined,
  ): Promise<Response> {
    if (body.method !== 'initialize')
      throw new ApiError('invalid_value', 'A session begins with initialize; later requests send its Mcp-Session-Id.');
    requireTenant(scope, 'A session', null);
    const { sdk } = this.settings;
    const id = randomUUID();
    const transport = new sdk.WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => id });
    const server = toolsServer(this.settings);
    const session = new Session(id, scope, server, transport);
    this.sessions.add(session);
    await server.connect(transport);
    if (exchange) session.begin(body.id, exchange);
    const response = await transport.handleRequest(web, handedOn(body, exchange, session));
    // A message that was no valid beginning.
    if (transport.sessionId === undefined) this.sessions.end(session);
    return response;
  }

  /** The server asks clients on the stream of their own request only, so there is no other stream. */
  private async get({ headers }: EndpointRequest): Promise<JsonReply> {
    this.refuseForeign(headers);
    const error = { code: -32_000, message: 'There is no stream to listen to. Send requests by POST.' };
    return withHeaders(jsonReply({ jsonrpc: '2.0', id: null, error }, 405), { allow: 'POST, DELETE' });
  }

  private async remove({ headers, scope }: EndpointRequest): Promise<JsonReply> {
    this.refuseForeign(headers);
    const session = this.sessions.find(scope, headers.get(SESSION_HEADER) ?? '');
    if (!session) throw unknownSession();
    this.sessions.end(session);
    return jsonReply({});
  }

  /** A web page that a user opens must not reach the tools: neither from another site, nor by a name of its own for this server (DNS rebinding). */
  private refuseForeign(headers: Headers): void {
    const { sdk, allowed } = this.settings;
    const refuse = (what: string, option: string) => {
      const message = `Requests with this ${what} are not allowed here; the server may allow its host name by ${option}.`;
      throw new ApiError('invalid_value', message, { status: 403 });
    };
    if (!sdk.validateOriginHeader(headers.get('origin'), [...allowed.origins]).ok) refuse('Origin', 'allowedOrigins');
    if (allowed.hosts && !sdk.validateHostHeader(headers.get('host'), [...allowed.hosts]).ok)
      refuse('Host', 'allowedHosts');
  }
}

function unknownSession(): ApiError {
  return new ApiError('not_found', 'Session not found. Begin a new one with initialize.');
}

/** The SDK passes what it believes to be an access token on to the handlers, unread. */
function handedOn(
  parsedBody: JsonObject,
  exchange: Exchange | undefined,
  session: Session | undefined,
): McpHandlerRequestOptions {
  // The cast: `answered` reads it. A notification has no handler here.
  const extra = { exchange, session } satisfies Partial<Record<keyof Handed, unknown>> as Record<string, unknown>;
  return { parsedBody, authInfo: { token: '', clientId: '', scopes: [], extra } };
}

function isEventStream(response: Response): response is Response & { readonly body: ReadableStream<Uint8Array> } {
  return response.body !== null && response.headers.get('content-type')?.startsWith('text/event-stream') === true;
}

function messageFrame(text: string): string {
  return `event: message\ndata: ${text}\n\n`;
}

/** Without those of one connection, which HTTP/2 forbids. */
function sentHeaders({ headers }: Response): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name !== 'connection'));
}
