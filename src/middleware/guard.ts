/** Guards what goes into the handler behind it, and what comes out. */

import type { ServerResponse } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import { createParser } from 'eventsource-parser';
import { ChatAnswer } from '../inspection/answers/chat-answer.ts';
import { MessageAnswer } from '../inspection/answers/message-answer.ts';
import { ResponseAnswer } from '../inspection/answers/response-answer.ts';
import { type GuardSettings, guardSettings } from '../inspection/guard/settings.ts';
import { bodyForModel, guardedBody, TEXT_FIELDS } from '../inspection/request/guarded-body.ts';
import { type GuardSession, guardSession, RequestGuards } from '../inspection/request/request-guards.ts';
import { formatIn, wantsJson } from '../inspection/request/wanted-json.ts';
import { type AnswerHead, isEventStream } from '../node/event-stream.ts';
import { bodyOf, replaceBody } from '../node/node-body.ts';
import { contextOf, endpointRequestOfNode, keepContext, type NodeRequest } from '../node/node-request.ts';
import { type AnswerRewriter, rewriteAnswer } from '../node/rewritten-answer.ts';
import { bringLimits, refuseMany } from '../ports/endpoints/brought.ts';
import { reportError } from '../ports/endpoints/endpoint.ts';
import type { EndpointRequest } from '../ports/endpoints/endpoint-request.ts';
import type { GuardOptions } from '../ports/guard.ts';
import type { LoadedHistory } from '../ports/turn-context.ts';
import { anthropicError } from '../protocol/anthropic/envelope.ts';
import { ApiError, toApiError } from '../protocol/errors.ts';
import { bodyFields } from '../protocol/json/json-shape.ts';
import { jsonIn } from '../protocol/json/json-text.ts';
import { isRecord, type JsonObject } from '../protocol/record.ts';
import { eventLines } from '../streams/event-lines.ts';
import { HEARTBEAT_FRAME, isDone } from '../streams/sse-frames.ts';
import { dialectFor, type HostMiddleware, refuse } from './as-middleware.ts';
import type { Dialect } from './dialect.ts';
import { type MiddlewareOptions, type MiddlewareSettings, middlewareSettings } from './options.ts';

/** The guards, and the options of every middleware. */
export interface GuardMiddlewareOptions<Req extends NodeRequest = NodeRequest>
  extends Omit<MiddlewareOptions<Req>, 'tools' | 'guards'>,
    GuardOptions<Req> {}

/**
 * Runs guards over the requests and answers of the handler behind it, in any of the APIs, streamed or not: `input` sees what
 * is new in a request, `output` the answer. A router of this package behind it runs `output` and `tools` itself, so that
 * it stores what it shows. The handler is not offered to compress its answers; one that it compresses all the same is
 * broken off. Throws a `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import express, { type RequestHandler } from 'express';
 * import { guard } from 'express-open-responses';
 * import { pii } from 'express-open-responses/guards';
 *
 * declare const proxy: RequestHandler;
 * express().post('/v1/chat/completions', express.json(), guard({ input: [pii()], output: [pii()] }), proxy);
 * ```
 */
export function guard<Req extends NodeRequest = NodeRequest>(
  options: GuardMiddlewareOptions<Req>,
): HostMiddleware<Req> {
  const { input, output, tools, ...others } = options;
  const settings = middlewareSettings('guard', others);
  const guards = guardSettings('guard', { input, output, tools });
  if (!guards) throw new TypeError('guard: one of input, output and tools must have a guard, got none');
  return function guardMiddleware(req, res, next) {
    guarded(req, res, guards, settings).then(
      () => next(),
      (error) => refuse(error, req, res, next, settings),
    );
  };
}

async function guarded(
  req: NodeRequest,
  res: ServerResponse,
  guards: GuardSettings,
  settings: MiddlewareSettings,
): Promise<void> {
  const body = await bodyOf(req, settings.limits);
  const dialect = dialectFor(req, body, settings);
  if (!dialect) return guardOther(req, res, body, guards, settings);
  const request = endpointRequestOfNode(req, res, settings.scope);
  const limits = bringLimits(request, settings.limits);
  const fields = bodyFields(body, limits);
  refuseMany(fields, limits);
  const session = guardSession(guards, request, settings.hooks, false);
  const { body: next, history } = await guardedRequest(fields, dialect, session, request);
  if (next !== body) replaceBody(req, next);
  const { context = {}, requestId, scope } = request;
  const sessions = [{ ...session, isInputDone: true }, ...(context.guards ?? [])];
  const known = { ...context, ...(history ? { history } : {}), requestId, ...(settings.scope ? { scope } : {}) };
  keepContext(res, { ...known, guards: sessions });
  guardAnswer(req, res, { dialect, session, request, settings, isJson: wantsJson(formatIn(fields)) });
}

const CONVERSATION = /\/conversations(?:\/[^/]+\/items)?\/?$/;
/** Where a handler shows what it has stored: answers as the model wrote them. */
const STORED: readonly (readonly [RegExp, Dialect])[] = [
  [/\/responses\/[^/]+(?:\/(?:input_items|cancel))?\/?$/, 'responses'],
  [/\/conversations\/[^/]+\/items(?:\/[^/]+)?\/?$/, 'responses'],
  [/\/chat\/completions(?:\/[^/]+(?:\/messages)?)?\/?$/, 'chat-completions'],
];

/** Requests without a model call. */
async function guardOther(
  req: NodeRequest & { originalUrl?: string },
  res: ServerResponse,
  body: unknown,
  guards: GuardSettings,
  settings: MiddlewareSettings,
): Promise<void> {
  const [path = ''] = (req.originalUrl ?? req.url ?? '').split('?', 1);
  const [, dialect] = STORED.find(([pattern]) => pattern.test(path)) ?? [];
  const hasItems = req.method === 'POST' && CONVERSATION.test(path) && isRecord(body);
  if (!hasItems && !dialect) return;
  const request = endpointRequestOfNode(req, res, settings.scope);
  const session = guardSession(guards, request, settings.hooks, false);
  if (hasItems) await guardConversation(req, body, session, settings);
  if (dialect && guards.output.length > 0)
    guardAnswer(req, res, { dialect, session, request, settings, isJson: false });
}

/** Items for a conversation are history later, which is not looked at again. */
async function guardConversation(
  req: NodeRequest,
  body: unknown,
  session: GuardSession,
  { limits }: MiddlewareSettings,
): Promise<void> {
  const next = await guardedBody(bodyFields(body, limits), TEXT_FIELDS.conversations, new RequestGuards([session]));
  if (next !== body) replaceBody(req, next);
}

interface GuardedRequest {
  readonly body: JsonObject;
  readonly history: LoadedHistory | undefined;
}

/** With placeholders, which a router behind it takes back: it needs the values in its store. */
async function guardedRequest(
  body: JsonObject,
  dialect: Dialect,
  session: GuardSession,
  { context }: EndpointRequest,
): Promise<GuardedRequest> {
  const guards = new RequestGuards([session]);
  const fields = TEXT_FIELDS[dialect];
  const history = context?.history;
  const known = new Set(history?.loaded);
  const seen = await guardedBody(body, fields, guards, known);
  if (!guards.restores) return { body: seen, history };
  const shown = await bodyForModel(seen, fields, guards);
  const list = dialect === 'responses' ? 'input' : 'messages';
  return { body: shown, history: history && { ...history, loaded: moved(seen[list], shown[list], known) } };
}

/** The loaded members where they are now. */
function moved(before: unknown, after: unknown, known: ReadonlySet<unknown>): readonly unknown[] {
  if (!Array.isArray(before) || !Array.isArray(after)) return [...known];
  return after.filter((_, at) => known.has(before[at]));
}

/** An answer to be guarded. */
interface GuardedAnswer {
  readonly dialect: Dialect;
  readonly session: GuardSession;
  readonly request: EndpointRequest;
  readonly settings: MiddlewareSettings;
  /** Whether the request wants JSON. */
  readonly isJson: boolean;
}

function guardAnswer(req: NodeRequest, res: ServerResponse, answer: GuardedAnswer): void {
  const guards = new RequestGuards([answer.session]);
  if (!guards.guardsOutput) return;
  const isWanted = () => !contextOf(res).handled;
  // No guard reads compressed bytes.
  delete req.headers['accept-encoding'];
  rewriteAnswer(res, isWanted, (head) => (isWanted() ? rewriterFor(head, guards, answer) : undefined));
}

/** Errors of the handler pass as they are. */
function rewriterFor(head: AnswerHead, guards: RequestGuards, answer: GuardedAnswer): AnswerRewriter | undefined {
  if (head.status < 200 || head.status > 299) return undefined;
  const reader = readerOf(guards, answer);
  if (isEventStream(head)) return new EventRewriter(reader, answer);
  if (head.plain && /[/+]json\b/i.test(head.type)) return new WholeRewriter(reader, answer);
  return unreadable(answer);
}

function readerOf(guards: RequestGuards, { dialect, settings, isJson }: GuardedAnswer): AnswerGuard {
  const { outputBytes } = settings.limits;
  if (dialect === 'chat-completions') return new ChatAnswer(guards, isJson);
  const Reader = dialect === 'messages' ? MessageAnswer : ResponseAnswer;
  return new Reader(guards, outputBytes, isJson);
}

type AnswerGuard = ChatAnswer | MessageAnswer | ResponseAnswer;

/** The bytes of an event stream. */
class EventRewriter implements AnswerRewriter {
  private readonly reader: AnswerGuard;
  private readonly answer: GuardedAnswer;
  private readonly decoder = new StringDecoder('utf8');
  private readonly spelt = eventLines();
  private readonly events: string[] = [];
  private readonly parser;
  private hasFailed = false;
  private hasComment = false;

  constructor(reader: AnswerGuard, answer: GuardedAnswer) {
    this.reader = reader;
    this.answer = answer;
    this.parser = createParser({
      maxBufferSize: answer.settings.limits.eventBytes,
      onEvent: ({ data }) => void this.events.push(data),
      onComment: () => {
        this.hasComment = true;
      },
      onError: ({ type }) => {
        if (type === 'max-buffer-size-exceeded') throw tooLarge();
      },
    });
  }

  get isOver(): boolean {
    return this.hasFailed || this.reader.isBlocked;
  }

  async write(bytes: Uint8Array): Promise<string> {
    try {
      this.parser.feed(this.spelt(this.decoder.write(Buffer.from(bytes))));
      let frames = '';
      for (const data of this.events.splice(0)) frames += this.framed(await this.reader.event(data));
      const isHeartbeat = frames === '' && this.hasComment;
      this.hasComment = false;
      return isHeartbeat ? HEARTBEAT_FRAME : frames;
    } catch (error) {
      return this.failure(error);
    }
  }

  /** A last event without its blank line counts, if it is whole. */
  async end(): Promise<string> {
    try {
      this.parser.feed(this.spelt(`${this.decoder.end()}\n\n`));
      let frames = '';
      for (const data of this.events.splice(0))
        if (isDone(data) || jsonIn(data) !== undefined) frames += this.framed(await this.reader.event(data));
      return frames + this.framed(await this.reader.end());
    } catch (error) {
      return this.failure(error);
    }
  }

  private framed(events: readonly string[]): string {
    return events.map((data) => `${this.nameOf(data)}data: ${data.replaceAll('\n', '\ndata: ')}\n\n`).join('');
  }

  /** Chunks of Chat Completions have no line with their name. */
  private nameOf(data: string): string {
    if (this.answer.dialect === 'chat-completions') return '';
    const name = /^\{"type":"([\w.]+)"/.exec(data)?.[1];
    return name === undefined ? '' : `event: ${name}\n`;
  }

  private failure(error: unknown): string {
    this.hasFailed = true;
    const { request, settings, dialect } = this.answer;
    const shown = reportError(error, request, settings);
    if (dialect === 'messages')
      return `event: error\ndata: ${JSON.stringify(anthropicError(shown, request.requestId))}\n\n`;
    const { body } = shown;
    const { code, message, param } = body;
    if (dialect === 'responses')
      return `event: error\ndata: ${JSON.stringify({ type: 'error', code, message, param })}\n\n`;
    return `data: ${JSON.stringify({ error: body })}\n\ndata: [DONE]\n\n`;
  }
}

/** The bytes of an answer that is one JSON value. A failure breaks it off: its status has been decided. */
class WholeRewriter implements AnswerRewriter {
  readonly isOver = false;
  private readonly reader: AnswerGuard;
  private readonly answer: GuardedAnswer;
  private readonly pieces: Uint8Array[] = [];
  private size = 0;

  constructor(reader: AnswerGuard, answer: GuardedAnswer) {
    this.reader = reader;
    this.answer = answer;
  }

  async write(bytes: Uint8Array): Promise<string> {
    const { outputBytes, eventBytes } = this.answer.settings.limits;
    this.size += bytes.byteLength;
    if (this.size > outputBytes + eventBytes) throw this.reported(tooLarge());
    this.pieces.push(Uint8Array.from(bytes));
    return '';
  }

  async end(): Promise<string> {
    try {
      return await this.reader.whole(Buffer.concat(this.pieces).toString('utf8'));
    } catch (error) {
      throw this.reported(error);
    }
  }

  private reported(error: unknown): Error {
    return reportError(error, this.answer.request, this.answer.settings);
  }
}

function tooLarge(): ApiError {
  return new ApiError('output_too_large', 'The handler wrote more than the limit for an answer that guards read.');
}

/** Compressed bytes and unknown formats may not pass. */
function unreadable({ request, settings }: GuardedAnswer): AnswerRewriter {
  const write = (): Promise<string> => {
    const advice = 'Let the handler answer with JSON or an event stream, uncompressed.';
    const error = new ApiError('guard_failed', 'The answer is in a form that guards cannot read.', { advice });
    return Promise.reject(toApiError(reportError(error, request, settings)));
  };
  // An answer without a body has no form.
  return { write, end: async () => '', isOver: false };
}
