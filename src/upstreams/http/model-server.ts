/** One model server, as an upstream talks to it: its connections, the headers of each request, and errors without their secrets. */
import type { UpstreamCall } from '../../ports/upstream.ts';
import { SECRET_NAME } from '../../protocol/secrets/mask.ts';
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
  /** Of calls whose headers have secrets of their own: they may belong to another tenant each time. */
  private readonly scrubs = new WeakMap<UpstreamCall, Scrub>();
  /** Names of the client's headers that are secret and passed on; undefined where the host's function may add any. */
  private readonly secretHeaders: readonly string[] | undefined;

  /** `owner` is the upstream's name in errors of options; `key` are the headers with its key. */
  constructor(owner: string, settings: ModelServerSettings, key: SentHeaders) {
    this.owner = owner;
    this.settings = settings;
    this.key = key;
    this.client = httpClient(settings);
    this.scrubber = scrubber(settings);
    this.scrubFixed = this.scrubber.of(fixedHeaders(settings, key));
    const forwarded = settings.forwardHeaders.map((name) => name.toLowerCase());
    const areFixed = typeof settings.headers !== 'function';
    this.secretHeaders = areFixed ? forwarded.filter((name) => SECRET_NAME.test(name)) : undefined;
  }

  /** The headers of a request for this call. Throws a `TypeError` for a bad header of the host's function. */
  headers({ headers }: UpstreamCall): SentHeaders {
    return requestHeaders(this.owner, this.settings, this.key, headers);
  }

  /** Removes the secrets of a request with these headers from an error; `redact` does so, too, for errors of the call. */
  scrubFor(headers: SentHeaders, call?: UpstreamCall): Scrub {
    const scrub = this.scrubber.of(headers);
    const hasOwnSecrets = this.secretHeaders?.some((name) => headers[name] !== undefined) ?? true;
    if (call && hasOwnSecrets) this.scrubs.set(call, scrub);
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
