/** Guards what a handler writes: an event stream, one JSON value, or lines of JSON. */

import { METHODS, type ServerResponse } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import { createParser } from 'eventsource-parser';
import { reportError } from '../../apis/endpoint/endpoint.ts';
import { AnyAnswer } from '../../engine/guarding/answers/any-answer.ts';
import { guardLine } from '../../engine/guarding/answers/batch-line.ts';
import { type GuardSession, RequestGuards } from '../../engine/guarding/request/request-guards.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { anthropicError } from '../../protocol/anthropic/envelope.ts';
import { ApiError, toApiError } from '../../protocol/errors.ts';
import { jsonIn, objectIn } from '../../protocol/json/json-text.ts';
import { isUtf8Type } from '../../server/requests/json-body.ts';
import { eventLines } from '../../streams/event-lines.ts';
import { HEARTBEAT_FRAME, isDone } from '../../streams/sse-frames.ts';
import { isEventStream } from '../node/event-stream.ts';
import { type NodeRequest, turnContext } from '../node/node-request.ts';
import { type AnswerRewriter, rewriteAnswer } from '../node/rewritten-answer.ts';
import type { ApiName } from './api.ts';
import type { MiddlewareSettings } from './options.ts';

/** An answer to be guarded. */
interface GuardedAnswer {
  readonly api: ApiName;
  readonly session: GuardSession;
  readonly request: EndpointRequest;
  readonly settings: MiddlewareSettings;
  /** Whether it is a file that may be lines of JSON, whatever its type is called. */
  readonly hasLines?: boolean | undefined;
}

/** The types of lines of JSON. */
const JSON_LINES = /[/+](x-)?(jsonl|jsonlines|ndjson|json-lines)\b/i;

/** Has what the handler writes read before the client receives it. */
export function guardAnswer(req: NodeRequest, res: ServerResponse, answer: GuardedAnswer): void {
  const guards = new RequestGuards([answer.session]);
  if (!guards.guardsOutput) return;
  // The lines of a batch run without this request: no router has them guarded for it.
  const isWanted = (type: string) => JSON_LINES.test(type) || !turnContext(res).handled;
  // No guard reads compressed bytes.
  delete req.headers['accept-encoding'];
  rewriteAnswer(res, isWanted, (head) => {
    if (!isWanted(head.type)) return undefined;
    const newReader = () => new AnyAnswer(guards, answer.settings.limits.outputBytes, answer.api);
    if (isEventStream(head)) return new EventRewriter(newReader(), answer, guards.onlyObserves);
    const isError = head.status < 200 || head.status > 299;
    const isText =
      /[/+]json(?![\w-])/i.test(head.type) || (isError && (head.type === '' || /^text\//i.test(head.type)));
    const isReadable = head.plain && isUtf8Type(head.type);
    if (isReadable && isText) return new WholeRewriter((text) => newReader().whole(text), answer);
    if (isReadable && (answer.hasLines || JSON_LINES.test(head.type)))
      return new LinesRewriter(async (written) => {
        const text = written.trim();
        if (text === '') return '';
        const line = objectIn(text);
        // Of a line that is cut anywhere, as by a range of bytes, nobody can tell what it says.
        if (!line) throw unreadable();
        const guarded = await guardLine(line, newReader);
        return guards.onlyObserves ? text : JSON.stringify(guarded);
      }, answer);
    if (head.plain && req.method === 'OPTIONS') return new MethodsRewriter(refuseUnreadable(answer));
    return refuseUnreadable(answer);
  });
}

/** An event as the handler has written it. */
interface WrittenEvent {
  readonly data: string;
  readonly name: string | undefined;
}

/** The bytes of an event stream. */
class EventRewriter implements AnswerRewriter {
  private readonly reader: AnyAnswer;
  private readonly answer: GuardedAnswer;
  private readonly decoder = new StringDecoder('utf8');
  private readonly toLines = eventLines();
  private readonly events: WrittenEvent[] = [];
  private readonly parser;
  private readonly keepsNames: boolean;
  private hasFailed = false;
  private hasComment = false;

  /** `keepsNames` is whether events have the names that the handler has written, as their data are its own, too. */
  constructor(reader: AnyAnswer, answer: GuardedAnswer, keepsNames: boolean) {
    this.reader = reader;
    this.answer = answer;
    this.keepsNames = keepsNames;
    this.parser = createParser({
      maxBufferSize: answer.settings.limits.eventBytes,
      onEvent: ({ data, event }) => void this.events.push({ data, name: event }),
      onComment: () => {
        this.hasComment = true;
      },
      onError: ({ type }) => {
        if (type === 'max-buffer-size-exceeded') throw answerTooLarge();
      },
    });
  }

  get isOver(): boolean {
    return this.hasFailed || this.reader.isBlocked;
  }

  async write(bytes: Uint8Array): Promise<string> {
    try {
      this.parser.feed(this.toLines(this.decoder.write(Buffer.from(bytes))));
      let frames = '';
      for (const { data, name } of this.events.splice(0)) frames += this.toFrames(await this.reader.event(data), name);
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
      this.parser.feed(this.toLines(`${this.decoder.end()}\n\n`));
      let frames = '';
      for (const { data, name } of this.events.splice(0))
        if (isDone(data) || jsonIn(data) !== undefined) frames += this.toFrames(await this.reader.event(data), name);
      return frames + this.toFrames(await this.reader.end());
    } catch (error) {
      return this.failure(error);
    }
  }

  /** `written` is the name that the handler has written. */
  private toFrames(events: readonly string[], written?: string): string {
    return events
      .map((data) => {
        const name = this.keepsNames ? written : this.nameOf(data);
        return `${name === undefined ? '' : `event: ${name}\n`}data: ${data.replaceAll('\n', '\ndata: ')}\n\n`;
      })
      .join('');
  }

  /** Chunks of Chat Completions have no line with their name. */
  private nameOf(data: string): string | undefined {
    return this.reader.api === 'chat-completions' ? undefined : /^\{"type":"([\w.]+)"/.exec(data)?.[1];
  }

  private failure(error: unknown): string {
    this.hasFailed = true;
    const { request, settings } = this.answer;
    const { api } = this.reader;
    const apiError = reportError(error, request, settings);
    if (api === 'messages')
      return `event: error\ndata: ${JSON.stringify(anthropicError(apiError, request.requestId))}\n\n`;
    const { body } = apiError;
    const { code, message, param } = body;
    if (api === 'responses')
      return `event: error\ndata: ${JSON.stringify({ type: 'error', code, message, param })}\n\n`;
    return `data: ${JSON.stringify({ error: body })}\n\ndata: [DONE]\n\n`;
  }
}

/** The bytes of an answer that is guarded as a whole. A failure breaks it off: its status has been decided. */
class WholeRewriter implements AnswerRewriter {
  readonly isOver = false;
  private readonly guardText: (text: string) => Promise<string>;
  private readonly answer: GuardedAnswer;
  private pieces: Uint8Array[] = [];
  private size = 0;

  constructor(guardText: (text: string) => Promise<string>, answer: GuardedAnswer) {
    this.guardText = guardText;
    this.answer = answer;
  }

  async write(bytes: Uint8Array): Promise<string> {
    const { outputBytes, eventBytes } = this.answer.settings.limits;
    this.size += bytes.byteLength;
    if (this.size > outputBytes + eventBytes) throw this.report(answerTooLarge());
    this.pieces.push(Uint8Array.from(bytes));
    return '';
  }

  async end(): Promise<string> {
    const text = Buffer.concat(this.pieces).toString('utf8');
    this.pieces = [];
    this.size = 0;
    try {
      return await this.guardText(text);
    } catch (error) {
      throw this.report(error);
    }
  }

  private report(error: unknown): Error {
    return reportError(error, this.answer.request, this.answer.settings);
  }
}

const LINE_FEED = 0x0a;

/** The bytes of lines of JSON, such as the results of a batch: no more than one line is held at a time. */
class LinesRewriter extends WholeRewriter {
  override async write(bytes: Uint8Array): Promise<string> {
    let lines = '';
    let from = 0;
    for (let feed = bytes.indexOf(LINE_FEED); feed >= 0; feed = bytes.indexOf(LINE_FEED, from)) {
      await super.write(bytes.subarray(from, feed));
      lines += `${await this.end()}\n`;
      from = feed + 1;
    }
    await super.write(bytes.subarray(from));
    return lines;
  }
}

function answerTooLarge(): ApiError {
  return new ApiError('output_too_large', 'The handler wrote more than the limit for an answer that guards read.');
}

/** What frameworks answer to OPTIONS, as browsers ask it before a request: the names of methods, and nothing else. */
class MethodsRewriter implements AnswerRewriter {
  readonly isOver = false;
  private readonly unreadable: AnswerRewriter;

  constructor(unreadable: AnswerRewriter) {
    this.unreadable = unreadable;
  }

  async write(bytes: Uint8Array): Promise<string> {
    const text = Buffer.from(bytes).toString('latin1');
    const isMethods = text.split(',').every((method) => METHODS.includes(method.trim()));
    return isMethods ? text : this.unreadable.write(bytes);
  }

  async end(): Promise<string> {
    return '';
  }
}

/** Compressed bytes and unknown formats may not pass. */
function refuseUnreadable({ request, settings }: GuardedAnswer): AnswerRewriter {
  const write = (): Promise<string> => Promise.reject(toApiError(reportError(unreadable(), request, settings)));
  // An answer without a body has no form.
  return { write, end: async () => '', isOver: false };
}

function unreadable(): ApiError {
  const advice = 'Let the handler answer with JSON, lines of JSON or an event stream, uncompressed.';
  return new ApiError('guard_failed', 'The answer is in a form that guards cannot read.', { advice });
}
