/** One call to Anthropic's server, across the pauses of its own tools. */
import type { UpstreamCall } from '../../ports/upstream.ts';
import { rememberInputs, textWithInputs } from '../../protocol/anthropic/tool-inputs.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { cleanNote } from '../../protocol/secrets/scrub.ts';
import { secondTry } from '../../streams/second-try.ts';
import { exchange, parseJson } from '../http/exchange.ts';
import type { ModelServer, SentHeaders } from '../http/model-server.ts';
import { STATE_REJECTED, withoutThoughts } from '../http/without-thoughts.ts';
import { toMessagesBody } from './body.ts';
import { continuedBody } from './continued.ts';
import { type MessagesDecoder, messagesDecoder } from './decoder.ts';
import { isThought, type Message } from './messages.ts';
import type { AnthropicSettings } from './options.ts';

/** One call to the model server, with all the messages that its pauses make of it. */
export class MessagesTurn {
  private readonly server: ModelServer;
  private readonly settings: AnthropicSettings;
  private readonly call: UpstreamCall;
  private readonly headers: SentHeaders;

  constructor(server: ModelServer, settings: AnthropicSettings, call: UpstreamCall, headers: SentHeaders) {
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
      const isRefused = error instanceof ApiError && error.status === 400 && REFUSED_THOUGHT.test(error.message);
      if (!isRefused) return undefined;
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
    const decoder = messagesDecoder(cleanNote(note, this.server.cleanerFor(this.headers)), limits.outputBytes);
    let next: JsonObject | undefined = fields;
    for (let pauses = 0; next; pauses += 1) {
      yield* this.message(decoder, textWithInputs(next));
      const { pause } = decoder;
      if (!pause) return;
      next = pauses < limits.toolIterations ? continuedBody(fields, pause, limit) : undefined;
      decoder.resume();
    }
    yield [{ type: 'finish', reason: 'length' }];
  }

  private async *message(decoder: MessagesDecoder, body: string): AsyncGenerator<readonly ModelEvent[]> {
    const httpRequest = { path: '/messages', headers: this.headers, body, isLast };
    for await (const { data } of exchange(this.server.client, httpRequest, this.call)) {
      const events: ModelEvent[] = [];
      const failure = decodeBatch(data, decoder, events);
      // Events before an error still count; an empty batch means that the request was accepted.
      if (events.length > 0 || data.length === 0) yield events;
      if (failure) throw failure;
      if (decoder.done) return;
    }
    const last: ModelEvent[] = [];
    // A server that sent its stop reason has finished, even without the last event.
    if (!decoder.end(last)) throw new ApiError('upstream_truncated', 'The model server broke off its answer.');
    yield last;
  }
}

const REFUSED_THOUGHT = /Invalid `?(signature|data)`? in `?(redacted_)?thinking`?\s{1,16}block/;

/** Only a short event can be the last one, so long ones are not parsed twice. */
export function isLast(data: string): boolean {
  if (data.length >= 256 || !data.includes('message_stop')) return false;
  const event = parseJson(data);
  return isRecord(event) && event.type === 'message_stop';
}

function decodeBatch(batch: readonly string[], decoder: MessagesDecoder, events: ModelEvent[]): unknown {
  try {
    for (const data of batch) {
      if (data === '' || data.trim() === '[DONE]') continue;
      const event = parseJson(data);
      rememberInputs(event, data);
      decoder.take(event, events);
    }
  } catch (error) {
    return error;
  }
  return undefined;
}
