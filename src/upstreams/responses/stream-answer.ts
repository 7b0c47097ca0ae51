/** Sends a request to a Responses server, and reads the answer as events of a model. */
import type { UpstreamCall } from '../../ports/upstream.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { cleanNote, type Scrub } from '../../protocol/secrets/scrub.ts';
import { type Mapping, mapStream, type PullStream } from '../../streams/pull-stream.ts';
import { isDone } from '../../streams/sse-frames.ts';
import { type AnswerBatch, exchange, parseJson } from '../http/exchange.ts';
import type { ModelServer } from '../http/model-server.ts';
import { type ResponsesDecoder, responsesDecoder } from './decoder.ts';

/** The events of the answer to these fields; `offered` has the tools that the server knows them by. */
export function streamAnswer(
  server: ModelServer,
  fields: JsonObject,
  offered: ModelRequest,
  call: UpstreamCall,
): PullStream<readonly ModelEvent[]> {
  const headers = server.headers(call);
  const scrubError = server.scrubFor(headers);
  const note = cleanNote(call.note, server.cleanerFor(headers));
  const httpRequest = { path: '/responses', headers, body: JSON.stringify(fields), isLast: isDone, scrubError };
  const batches = exchange(server.client, httpRequest, call);
  return mapStream(batches, new AnswerDecoding(responsesDecoder(note, offered), scrubError));
}

/** Decodes batch by batch; the decoder detects the end, because few servers write `[DONE]`. */
class AnswerDecoding implements Mapping<AnswerBatch, readonly ModelEvent[]> {
  private readonly decoder: ResponsesDecoder;
  private readonly scrub: Scrub;
  private failure: unknown = undefined;

  constructor(decoder: ResponsesDecoder, scrub: Scrub) {
    this.decoder = decoder;
    this.scrub = scrub;
  }

  map({ data }: AnswerBatch): readonly ModelEvent[] | undefined {
    const events: ModelEvent[] = [];
    try {
      for (const each of data) if (!this.decoder.done) this.take(each, events);
    } catch (error) {
      this.failure = this.scrub(error);
    }
    // Events before an error still count; an empty batch means that the request was accepted.
    return events.length > 0 || data.length === 0 ? events : undefined;
  }

  shouldContinue(): boolean {
    if (this.failure) throw this.failure;
    return !this.decoder.done;
  }

  end(): readonly ModelEvent[] {
    throw this.scrub(new ApiError('upstream_truncated', 'The model server broke off its answer.'));
  }

  private take(data: string, events: ModelEvent[]): void {
    if (data !== '' && !isDone(data)) this.decoder.take(parseJson(data), events);
  }
}
