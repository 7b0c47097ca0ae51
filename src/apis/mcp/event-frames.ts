/** The event stream of the SDK as the frames of a reply. */
import type { Exchange } from './exchange.ts';

/** A class, since a generator that is ended before its first frame would not end the exchange. */
export class EventFrames implements AsyncIterableIterator<string> {
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  private readonly exchange: Exchange | undefined;
  private readonly decoder = new TextDecoder();

  /** Each piece of the stream is whole frames. It ends with the exchange. */
  constructor(stream: ReadableStream<Uint8Array>, exchange: Exchange | undefined) {
    this.reader = stream.getReader();
    this.exchange = exchange;
    const cancel = () => void this.cancel();
    if (exchange?.signal.aborted) cancel();
    else exchange?.signal.addEventListener('abort', cancel, { once: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<string, undefined>> {
    const { done, value } = await this.reader.read();
    if (!done) return { done, value: this.decoder.decode(value, { stream: true }) };
    this.exchange?.end();
    return { done: true, value: undefined };
  }

  async return(): Promise<IteratorResult<string, undefined>> {
    this.exchange?.end();
    await this.cancel();
    return { done: true, value: undefined };
  }

  /** The SDK then writes no more. */
  private async cancel(): Promise<void> {
    await this.reader.cancel().catch(() => {});
  }
}
