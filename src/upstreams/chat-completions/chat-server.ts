/** One Chat Completions server: what is sent to it, and what of its answers may be shown. */
import type { ChatBatch, UpstreamCall } from '../../ports/upstream.ts';
import { costIn } from '../../protocol/chat-completions/usage.ts';
import type { Item } from '../../protocol/items.ts';
import { objectIn } from '../../protocol/json/json-text.ts';
import type { Note } from '../../protocol/note.ts';
import { isRecord, type JsonObject, recordsIn } from '../../protocol/record.ts';
import { cleanNote, type Scrub } from '../../protocol/secrets/scrub.ts';
import { errorInBody } from '../../protocol/upstream-errors/upstream-error.ts';
import type { PullStream } from '../../streams/pull-stream.ts';
import { isDone } from '../../streams/sse-frames.ts';
import { exchange, fetchJson, type SecondRequest } from '../http/exchange.ts';
import type { Refusal } from '../http/http.ts';
import { ModelServer } from '../http/model-server.ts';
import { bearerHeaders } from '../http/server-options.ts';
import { skippedItem } from '../http/skipped-item.ts';
import { unexpectedAnswer } from '../http/unexpected-answer.ts';
import type { ChatSettings } from './chat-options.ts';

/** A longer request, in characters, is not kept until it is accepted, and so not sent once more in another form. */
const MAX_SECOND_TRY = 2 ** 20;

/** An answer that is being received, with what reading it needs. */
interface OpenAnswer {
  readonly batches: PullStream<ChatBatch>;
  /** Removes the secrets of the request from an error. */
  readonly scrubError: Scrub;
  /** The error for data that is no answer. */
  readonly unexpected: (text: string, cause?: unknown) => Error;
  readonly note: (note: Note) => void;
}

/** Longer data is no report of a cost. */
const MAX_COST_CHUNK = 4096;

/** Whether the data is a chunk of nothing but the cost. */
function isCost(data: string): boolean {
  const chunk = data.length <= MAX_COST_CHUNK ? objectIn(data) : undefined;
  const isEmpty = Array.isArray(chunk?.choices) && chunk.choices.length === 0;
  return chunk !== undefined && isEmpty && costIn(chunk) !== undefined && errorInBody(chunk) === undefined;
}

/** The server of one upstream. */
export class ChatServer extends ModelServer {
  private readonly baseURL: URL;
  private readonly costAfterDone: boolean;

  constructor(settings: ChatSettings) {
    super('chatCompletionsUpstream', settings, bearerHeaders(settings));
    this.baseURL = settings.baseURL;
    this.costAfterDone = settings.costAfterDone;
  }

  /** Sends the body; `second` says what to send once more after a refusal. */
  open(body: JsonObject, call: UpstreamCall, second?: (refusal: Refusal) => SecondRequest | undefined): OpenAnswer {
    const { client, noteOnce, baseURL, costAfterDone } = this;
    const headers = this.headers(call);
    const [scrubError, clean] = [this.scrubFor(headers, call), this.cleanerFor(headers)];
    const unexpected = (text: string, cause?: unknown) => unexpectedAnswer(text, clean, baseURL, cause);
    const text = JSON.stringify(body);
    const again = text.length <= MAX_SECOND_TRY ? second : undefined;
    const reading = { isLast: isDone, isLate: isCost, waitsForLate: costAfterDone, scrubError, unexpected };
    const batches = exchange(
      client,
      { ...reading, path: '/chat/completions', headers, body: text, second: again },
      call,
    );
    return { batches, scrubError, unexpected, note: cleanNote((note) => noteOnce(call, note), clean) };
  }

  /** The entries of its list of models. */
  readonly listModels = async (call: UpstreamCall): Promise<readonly JsonObject[]> => {
    const headers = this.headers(call);
    return this.withoutSecrets(headers, async () => {
      const body = await fetchJson(this.client, { path: '/models', headers }, call);
      return recordsIn(isRecord(body) ? (body.data ?? body.models) : body);
    });
  };

  /** Where the writer of a body reports what it leaves out. */
  bodyReports(call: UpstreamCall) {
    return {
      skipped: (item: Item) => this.noteOnce(call, skippedItem(item, 'a chat request')),
      leftOut: (message: string) => this.noteOnce(call, { code: 'setting_dropped', message }),
    };
  }
}
