/** Uses a handler of the host as the model server of one request: each model call is one call of the handler. */

import type { ServerResponse } from 'node:http';
import type { ChatBatch, UpstreamCall } from '../../ports/upstream.ts';
import type { Reply } from '../../protocol/reply.ts';
import { truncatedError } from '../../protocol/secrets/scrub.ts';
import { upstreamError } from '../../protocol/upstream-errors/upstream-error.ts';
import { readWhole, streamBytes } from '../../streams/bytes.ts';
import { isDone } from '../../streams/sse-frames.ts';
import { exchange } from '../../upstreams/http/exchange.ts';
import type { HttpClient } from '../../upstreams/http/http.ts';
import { type AnyNodeHandler, callHandler, HandlerFailed } from '../node/handler-answer.ts';
import { replaceBody } from '../node/node-body.ts';
import type { NodeRequest } from '../node/node-request.ts';

/** One request's conversation with the handler. */
export interface HandlerChat {
  chat(body: Readonly<Record<string, unknown>>, call: UpstreamCall): AsyncIterable<ChatBatch>;
  /** Whether the head of its first answer has come. */
  readonly hasAnswered: boolean;
  /** The headers of its first answer, except those that describe its bytes, and those that the response had before. */
  readonly headers: Readonly<Record<string, string>>;
  /** The error it threw, or passed to `next`. */
  readonly failure: HandlerFailed | undefined;
  /** Its own error body, if its first answer was a refusal. */
  readonly refusal: Reply | undefined;
}

/** Headers that another body or connection makes wrong; and cookies, each of which is a header of its own. */
const NOT_PASSED =
  /^(content-(length|encoding|type)|transfer-encoding|trailer|connection|upgrade|keep-alive|etag|date|set-cookie)$/;

/** Calls the handler with the client's own request and the body of the model call. */
export function handlerChat(handler: AnyNodeHandler, req: NodeRequest, res: ServerResponse): HandlerChat {
  let headers: Readonly<Record<string, string>> | undefined;
  let refusal: Reply | undefined;
  let failure: HandlerFailed | undefined;
  const restore = requestRestorer(req);
  // Now: later they are those of this package's own answer.
  const earlierHeaders = Object.fromEntries(
    Object.entries(res.getHeaders()).filter(
      ([name]) => name === 'set-cookie' || !(NOT_PASSED.test(name) || name.startsWith(':')),
    ),
  );
  const earlierCookies = new Set([earlierHeaders['set-cookie'] ?? []].flat().map(String));

  const client: HttpClient = {
    async send({ stop }) {
      const answer = await callHandler(handler, req, res, stop, earlierHeaders).catch((error: unknown) => {
        if (error instanceof HandlerFailed) failure = error;
        throw error;
      });
      const contentType = String(answer.headers['content-type'] ?? '');
      const isFirst = headers === undefined;
      headers ??= Object.fromEntries(
        Object.entries(answer.headers)
          .filter(([name, value]) => value !== undefined && value !== earlierHeaders[name] && !NOT_PASSED.test(name))
          .map(([name, value]) => [name, [value].flat().join(', ')]),
      );
      // Where the stream was opened before the handler answered, its cookies come too late.
      if (isFirst && !res.headersSent)
        for (const cookie of [answer.headers['set-cookie'] ?? []].flat().map(String))
          if (!earlierCookies.has(cookie)) res.appendHeader('set-cookie', cookie);
      const body = streamBytes(answer.body);
      if (answer.status >= 200 && answer.status < 300) {
        return { status: answer.status, headers: { 'content-type': contentType }, body };
      }
      const text = await readWhole(body);
      if (isFirst)
        refusal = {
          status: answer.status,
          headers: { ...headers, ...(contentType ? { 'content-type': contentType } : {}) },
          body: text,
        };
      throw upstreamError(answer.status, text);
    },
    close: async () => {},
  };

  return {
    chat(body, call) {
      restore();
      replaceBody(req, body);
      return exchange(client, { path: '', headers: {}, body: '', isLast: isDone, scrubError: truncatedError }, call);
    },
    get hasAnswered() {
      return headers !== undefined;
    },
    get headers() {
      return headers ?? {};
    },
    get failure() {
      return failure;
    },
    get refusal() {
      return refusal;
    },
  };
}

/** What a router changes of a request for those behind it, and a proxy for its server; not every framework has all of them. */
const CHANGED_FIELDS = ['url', 'method', 'baseUrl', 'params'] as const;

/** Returns what makes the request again what it is now, its body apart: a handler that has answered leaves it as it needed it. */
function requestRestorer(req: NodeRequest): () => void {
  const fields = new Map(CHANGED_FIELDS.flatMap((name) => (name in req ? [[name, Reflect.get(req, name)]] : [])));
  const headers = { ...req.headers };
  return () => {
    for (const [name, value] of fields) Reflect.set(req, name, value);
    // In their place: those of HTTP/2 cannot be replaced.
    for (const name of Object.keys(req.headers)) delete req.headers[name];
    Object.assign(req.headers, headers);
  };
}
