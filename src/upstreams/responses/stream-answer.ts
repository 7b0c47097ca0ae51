/** Sends a request to a Responses server, and reads the answer as events of a model. */
import type { UpstreamCall } from '../../ports/upstream.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { cleanNote, type Scrub } from '../../protocol/secrets/scrub.ts';
import { BatchReader } from '../../streams/batch-reader.ts';
import { mapStream, type PullStream } from '../../streams/pull-stream.ts';
import { isDone } from '../../streams/sse-frames.ts';
import { type AnswerBatch, exchange, parseJson } from '../http/exchange.ts';
import type { ModelServer } from '../http/model-server.ts';
import type { WithoutFields } from '../http/refusals/without-fields.ts';
import { ResponsesDecoder } from './decoder.ts';
import { itemDeltaMemo } from './plain-delta.ts';

/** The events of the answer to these fields; `offered` has the tools that the server knows them by. */
export function streamAnswer(
  server: ModelServer,
  fields: JsonObject,
  offered: ModelRequest,
  call: UpstreamCall,
  without: WithoutFields,
): PullStream<readonly ModelEvent[]> {
  const headers = server.headers(call);
  const scrubError = server.scrubFor(headers);
  const note = cleanNote(call.note, server.cleanerFor(headers));
  const body = without.known(offered.model, fields);
  const text = JSON.stringify(body);
  const second = without.second({ model: offered.model, body, text }, server, call);
  const httpRequest = { path: '/responses', headers, body: text, isLast: isDone, scrubError, second };
  const batches = exchange(server.client, httpRequest, call);
  return mapStream(batches, new AnswerDecoding(new ResponsesDecoder(note, offered), scrubError));
}

/** Decodes batch by batch; the decoder detects the end, because few servers write `[DONE]`. */
class AnswerDecoding extends BatchReader<AnswerBatch> {
  private readonly decoder: ResponsesDecoder;
  private readonly memo = itemDeltaMemo();
  private readonly scrub: Scrub;

  constructor(decoder: ResponsesDecoder, scrub: Scrub) {
    super();
    this.decoder = decoder;
    this.scrub = scrub;
  }

  protected read({ data }: AnswerBatch, events: ModelEvent[]): void {
    for (const each of data) {
      if (this.decoder.done) return;
      const delta = this.memo.read(each);
      if (delta && this.decoder.takePlainDelta(delta, events)) continue;
      if (each === '' || isDone(each)) continue;
      const event = parseJson(each);
      this.decoder.take(event, events);
      this.memo.learn(each, event);
    }
  }

  protected override isWhole(): boolean {
    return this.decoder.done;
  }

  protected override visibleFailure(error: unknown): unknown {
    return this.scrub(error);
  }

  end(): readonly ModelEvent[] {
    throw this.scrub(new ApiError('upstream_truncated', 'The model server broke off its answer.'));
  }
}
