/** One Chat Completions server: what is sent to it, and what of its answers may be shown. */
import type { ChatBatch, UpstreamCall } from '../../ports/upstream.ts';
import type { Item } from '../../protocol/items.ts';
import type { Note } from '../../protocol/note.ts';
import { isRecord, type JsonObject, recordsIn } from '../../protocol/record.ts';
import { cleanNote, type Scrub, scrubber } from '../../protocol/secrets/scrub.ts';
import type { PullStream } from '../../streams/pull-stream.ts';
import { isDone } from '../../streams/sse-frames.ts';
import { exchange, fetchJson, type SecondRequest } from '../http/exchange.ts';
import { type HttpClient, httpClient, type Refusal } from '../http/http.ts';
import { noteOncePerCall } from '../http/note-once.ts';
import { bearerHeaders, fixedHeaders, requestHeaders } from '../http/server-options.ts';
import { skippedItem } from '../http/skipped-item.ts';
import { unexpectedAnswer } from '../http/unexpected-answer.ts';
import type { ChatSettings } from './chat-options.ts';

const NAME = 'chatCompletionsUpstream';

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

/** The server, as one upstream talks to it. */
export class ChatServer {
  readonly client: HttpClient;
  readonly noteOnce = noteOncePerCall();
  private readonly settings: ChatSettings;
  private readonly scrub: ReturnType<typeof scrubber>;
  private readonly scrubFixed: Scrub;
  /** Computed for each call, because the host's headers may belong to another tenant each time. */
  private readonly scrubs = new WeakMap<UpstreamCall, Scrub>();

  constructor(settings: ChatSettings) {
    this.settings = settings;
    this.client = httpClient(settings);
    this.scrub = scrubber(settings);
    this.scrubFixed = this.scrub.of(fixedHeaders(settings, bearerHeaders(settings)));
  }

  /** The headers of a request for this call. */
  headers({ headers }: UpstreamCall) {
    return requestHeaders(NAME, this.settings, bearerHeaders(this.settings), headers);
  }

  /** Sends the body; `second` says what to send once more after a refusal. */
  open(body: JsonObject, call: UpstreamCall, second?: (refusal: Refusal) => SecondRequest | undefined): OpenAnswer {
    const { client, noteOnce, settings } = this;
    const headers = this.headers(call);
    const [scrubError, clean] = [this.scrub.of(headers), this.scrub.textOf(headers)];
    this.scrubs.set(call, scrubError);
    const unexpected = (text: string, cause?: unknown) => unexpectedAnswer(text, clean, settings.baseURL, cause);
    const text = JSON.stringify(body);
    const again = text.length <= MAX_SECOND_TRY ? second : undefined;
    const request = { path: '/chat/completions', headers, body: text, second: again };
    const batches = exchange(client, { isLast: isDone, scrubError, unexpected, ...request }, call);
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

  /** Throws what the work throws, without the secrets of the headers. */
  async withoutSecrets<Value>(headers: Readonly<Record<string, string>>, work: () => Promise<Value>): Promise<Value> {
    try {
      return await work();
    } catch (error) {
      throw this.scrub.of(headers)(error);
    }
  }

  /** Removes the secrets of the headers from an error. */
  scrubFor(headers: Readonly<Record<string, string>>): Scrub {
    return this.scrub.of(headers);
  }

  /** Removes the secrets from an error; those of the call if it has been sent. */
  redact(error: unknown, call?: UpstreamCall): unknown {
    return ((call && this.scrubs.get(call)) ?? this.scrubFixed)(error);
  }

  /** Where the writer of a body reports what it leaves out. */
  bodyReports(call: UpstreamCall) {
    return {
      skipped: (item: Item) => this.noteOnce(call, skippedItem(item, 'a chat request')),
      leftOut: (message: string) => this.noteOnce(call, { code: 'setting_dropped', message }),
    };
  }
}
