/** One model server, as an upstream talks to it: its connections, the headers of each request, and errors without their secrets. */
import type { UpstreamCall } from '../../ports/upstream.ts';
import { type Scrub, type Scrubber, scrubber } from '../../protocol/secrets/scrub.ts';
import { type HttpClient, type HttpOptions, httpClient } from './http.ts';
import { noteOncePerCall } from './note-once.ts';
import { fixedHeaders, requestHeaders, type ServerSettings } from './server-options.ts';

/** Header names in lower case. */
export type SentHeaders = Readonly<Record<string, string>>;

/** How the server is reached. */
type ModelServerSettings = ServerSettings & HttpOptions & { readonly apiKey: string | undefined };

/** The server of one upstream. */
export class ModelServer {
  readonly client: HttpClient;
  /** Reports a note, once for each call. */
  readonly noteOnce = noteOncePerCall();
  private readonly owner: string;
  private readonly settings: ModelServerSettings;
  private readonly key: SentHeaders;
  private readonly scrubber: Scrubber;
  private readonly scrubFixed: Scrub;
  /** Computed for each call, because the host's headers may belong to another tenant each time. */
  private readonly scrubs = new WeakMap<UpstreamCall, Scrub>();

  /** `owner` is the upstream's name in errors of options; `key` are the headers with its key. */
  constructor(owner: string, settings: ModelServerSettings, key: SentHeaders) {
    this.owner = owner;
    this.settings = settings;
    this.key = key;
    this.client = httpClient(settings);
    this.scrubber = scrubber(settings);
    this.scrubFixed = this.scrubber.of(fixedHeaders(settings, key));
  }

  /** The headers of a request for this call. Throws a `TypeError` for a bad header of the host's function. */
  headers({ headers }: UpstreamCall): SentHeaders {
    return requestHeaders(this.owner, this.settings, this.key, headers);
  }

  /** Removes the secrets of a request with these headers from an error; `redact` does so, too, for errors of the call. */
  scrubFor(headers: SentHeaders, call?: UpstreamCall): Scrub {
    const scrub = this.scrubber.of(headers);
    if (call) this.scrubs.set(call, scrub);
    return scrub;
  }

  /** Removes them from a text. */
  cleanerFor(headers: SentHeaders): (text: string) => string {
    return this.scrubber.textOf(headers);
  }

  /** Throws what the work throws, without the secrets of the headers. */
  async withoutSecrets<Value>(headers: SentHeaders, work: () => Promise<Value>): Promise<Value> {
    try {
      return await work();
    } catch (error) {
      throw this.scrubFor(headers)(error);
    }
  }

  /** Removes the secrets of the call from an error, or where it has not been sent, those of every request. */
  redact(error: unknown, call?: UpstreamCall): unknown {
    return ((call && this.scrubs.get(call)) ?? this.scrubFixed)(error);
  }
}
