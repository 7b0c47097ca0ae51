/** One call to Anthropic's server, across the pauses of its own tools. */
import type { UpstreamCall } from '../../ports/upstream.ts';
import { rememberInputs, textWithInputs } from '../../protocol/anthropic/tool-inputs.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { cleanNote } from '../../protocol/secrets/scrub.ts';
import { BatchReader } from '../../streams/batch-reader.ts';
import { mapStream } from '../../streams/pull-stream.ts';
import { secondTry } from '../../streams/second-try.ts';
import { type AnswerBatch, exchange, parseJson } from '../http/exchange.ts';
import type { ModelServer, SentHeaders } from '../http/model-server.ts';
import type { WithoutFields } from '../http/refusals/without-fields.ts';
import { STATE_REJECTED, thoughtsRefusedBy, withoutThoughts } from '../http/refusals/without-thoughts.ts';
import { toMessagesBody } from './body.ts';
import { continuedBody } from './continued.ts';
import { MessagesDecoder } from './decoder.ts';
import { isThought, type Message } from './messages.ts';
import type { AnthropicSettings } from './options.ts';

/** One call to the model server, with all the messages that its pauses make of it. */
export class MessagesTurn {
  private readonly server: ModelServer;
  private readonly settings: AnthropicSettings;
  private readonly call: UpstreamCall;
  private readonly headers: SentHeaders;
  private readonly without: WithoutFields;

  constructor(
    server: ModelServer,
    settings: AnthropicSettings,
    call: UpstreamCall,
    { headers, without }: { readonly headers: SentHeaders; readonly without: WithoutFields },
  ) {
    this.without = without;
    this.server = server;
    this.settings = settings;
    this.call = call;
    this.headers = headers;
  }

  /** Asks once more without thinking where the server rejects thoughts that it signed. */
  events(request: ModelRequest): AsyncIterable<readonly ModelEvent[]> {
    const { noteOnce } = this.server;
    const fields = toMessagesBody(request, this.settings, (note) => noteOnce(this.call, note));
    const { maxOutputTokens: limit } = request;
    const first = this.answer(fields, limit);
    // The cast: this server wrote the body itself.
    const messages = fields.messages as readonly Message[];
    if (!messages.some(({ content }) => content.some(isThought))) return first;
    return secondTry(first, (error) => {
      // The API has no error code for this; other servers report it in the same words.
      if (!(error instanceof ApiError) || error.status !== 400 || !thoughtsRefusedBy(error.message)) return undefined;
      this.call.note(STATE_REJECTED);
      return this.answer(this.thoughtlessBody(request), limit);
    });
  }

  /** The body without thinking; the first body has already noted the unsupported settings. */
  private thoughtlessBody(request: ModelRequest): JsonObject {
    const { settings } = this;
    const { note } = this.call;
    const noted = new Set<string>();
    toMessagesBody(request, settings, ({ message }) => noted.add(message));
    return toMessagesBody(withoutThoughts(request), settings, (each) => noted.has(each.message) || note(each));
  }

  /** Reads all messages of a turn across its pauses; `limit` is the client's own, in tokens. */
  private async *answer(fields: JsonObject, limit: number | undefined): AsyncGenerator<readonly ModelEvent[]> {
    const { limits, note } = this.call;
    const decoder = new MessagesDecoder(cleanNote(note, this.server.cleanerFor(this.headers)), limits.outputBytes);
    const model = String(fields.model);
    let next: JsonObject | undefined = fields;
    for (let pauses = 0; next; pauses += 1) {
      const body = this.without.known(model, next);
      const text = textWithInputs(body);
      const second = this.without.second({ model, body, text, write: textWithInputs }, this.server, this.call);
      const httpRequest = { path: '/messages', headers: this.headers, body: text, isLast, second };
      yield* mapStream(exchange(this.server.client, httpRequest, this.call), new MessageReader(decoder));
      const { pause } = decoder;
      if (!pause) return;
      next = pauses < limits.toolIterations ? continuedBody(fields, pause, limit) : undefined;
      decoder.resume();
    }
    yield [{ type: 'finish', reason: 'length' }];
  }
}

/** Only a short event can be the last one, so long ones are not parsed twice. */
export function isLast(data: string): boolean {
  if (data.length >= 256 || !data.includes('message_stop')) return false;
  const event = parseJson(data);
  return isRecord(event) && event.type === 'message_stop';
}

/** Reads the events of one message. */
class MessageReader extends BatchReader<AnswerBatch> {
  private readonly decoder: MessagesDecoder;

  constructor(decoder: MessagesDecoder) {
    super();
    this.decoder = decoder;
  }

  protected read({ data }: AnswerBatch, events: ModelEvent[]): void {
    for (const each of data) {
      if (each === '' || each.trim() === '[DONE]') continue;
      const event = parseJson(each);
      rememberInputs(event, each);
      this.decoder.take(event, events);
    }
  }

  protected override isWhole(): boolean {
    return this.decoder.done;
  }

  end(): readonly ModelEvent[] {
    const events: ModelEvent[] = [];
    // A server that sent its stop reason has finished, even without the last event.
    if (!this.decoder.end(events)) throw new ApiError('upstream_truncated', 'The model server broke off its answer.');
    return events;
  }
}
