/** Guards an answer in the words of any API: whichever it is in, whatever the request was. */
import { jsonIn } from '../../../protocol/json/json-text.ts';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import type { RequestGuards } from '../request/request-guards.ts';
import type { AnswerReader } from './answer-reader.ts';
import { ChatAnswer } from './chat-answer.ts';
import { MessageAnswer } from './message-answer.ts';
import { ResponseAnswer } from './response-answer.ts';

/** The APIs. */
export type AnswerApi = 'responses' | 'chat-completions' | 'messages';

const READERS = {
  responses: ResponseAnswer,
  'chat-completions': ChatAnswer,
  messages: MessageAnswer,
} as const;

/** One answer. The client chooses the path of its request, so the answer itself says which API it is of. */
export class AnyAnswer {
  /** The API of the answer as far as it is known. */
  api: AnswerApi;
  private readonly guards: RequestGuards;
  private readonly maxCharacters: number;
  private reader: AnswerReader;
  private isCertain = false;

  /** `expected` is the API of the request; `maxCharacters` is the limit for one answer. */
  constructor(guards: RequestGuards, maxCharacters: number, expected: AnswerApi) {
    this.guards = guards;
    this.maxCharacters = maxCharacters;
    this.api = expected;
    this.reader = new READERS[expected](guards, maxCharacters);
  }

  /** Whether nothing may follow. */
  get isBlocked(): boolean {
    return this.reader.isBlocked;
  }

  /** The events in the place of one. Rejects with `guard_failed`. */
  event(data: string): Promise<readonly string[]> {
    if (!this.isCertain) this.use(apiOfEvent(jsonIn(data)));
    return this.reader.event(data);
  }

  /** The events at the end of a stream that has no end of its own. */
  end(): Promise<readonly string[]> {
    return this.reader.end();
  }

  /** The JSON of a whole answer, or another text. Rejects with `guard_failed`. */
  whole(text: string): Promise<string> {
    const body = jsonIn(text);
    this.use(apiOfWhole(body));
    return this.reader.whole(text, body);
  }

  /** A whole answer. Rejects with `guard_failed`. */
  wholeBody(body: JsonObject): Promise<unknown> {
    this.use(apiOfWhole(body));
    return this.reader.wholeBody(body);
  }

  private use(api: AnswerApi | undefined): void {
    if (!api) return;
    this.isCertain = true;
    if (api !== this.api) this.reader = new READERS[api](this.guards, this.maxCharacters);
    this.api = api;
  }
}

/** Undefined for an event that any API may send, such as an error. */
function apiOfEvent(event: unknown): AnswerApi | undefined {
  if (!isRecord(event)) return undefined;
  if (Array.isArray(event.choices)) return 'chat-completions';
  if (typeof event.type !== 'string') return undefined;
  if (event.type.startsWith('response.')) return 'responses';
  return /^(message|content_block)_/.test(event.type) ? 'messages' : undefined;
}

function apiOfWhole(body: unknown): AnswerApi | undefined {
  if (!isRecord(body)) return undefined;
  if (Array.isArray(body.choices)) return 'chat-completions';
  if (body.object === 'response' || Array.isArray(body.output)) return 'responses';
  return body.type === 'message' && Array.isArray(body.content) ? 'messages' : undefined;
}
