/** A dialect: how one kind of server spells the Responses API, as a rewriting of what this one says anyway. */
import type { ErrorBody } from '../protocol/errors.ts';
import type { Presentation } from './presentation.ts';

/** A JSON object of the wire. */
export type Fields = Readonly<Record<string, unknown>>;

/** One event of a stream, parsed; its sequence number is given anew when it is written. */
export type Frame = Fields & { readonly type: string };

/** What a dialect may ask about the stream that it rewrites. */
export interface About {
  /** Whether the server runs the tool of this name. */
  readonly isOwned: (name: string) => boolean;
}

/** Everything in which a dialect differs; what is left out is as in OpenAI's own. */
export interface Dialect {
  readonly name: DialectName;
  /** What has an option of its own; an option that the host sets wins. */
  readonly shown?: Partial<Presentation>;
  /** What stands in a stream besides the events' data. */
  readonly wire?: Wire;
  /** Begins a response; each of its frames becomes none, one or several. */
  readonly rewriter?: (about: About) => (frame: Frame) => readonly Frame[];
  /** Rewrites a whole response, as it is answered in JSON, now or when it is retrieved. */
  readonly resource?: (resource: Fields) => Fields;
  /** Rewrites an error as it is answered with a status. */
  readonly errorBody?: (error: ErrorBody) => Fields;
}

/** What stands in a stream besides the events' data. */
export interface Wire {
  readonly eventLine: boolean;
  readonly sequenceNumbers: boolean;
  readonly done: boolean;
  /** Whether a silence that comments fill has events among them, for clients whose idle timers see no comments. */
  readonly keepalive: boolean;
}

/** The dialects, by the systems that speak them. */
export type DialectName = 'openai' | 'open-responses-server' | 'vllm-responses' | 'tokligence';
