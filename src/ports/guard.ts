/** The port to a guard, which decides about each text of a request and of an answer. */
import type { MaybePromise } from './store.ts';

/**
 * What is done about a finding. `monitor`: it is only reported. `redact`: the verdict is applied. `enforce`: whatever
 * would be replaced blocks.
 */
export type GuardMode = 'monitor' | 'redact' | 'enforce';

/** Where a text goes: to the model, to the client, to a tool that the server runs, or from such a tool to the model. */
export type GuardDirection = 'input' | 'output' | 'tool-arguments' | 'tool-result';

/** One text to be inspected. `Req` is the host framework's request. */
export interface GuardSubject<Req = unknown> {
  /** The text; of an answer that is streamed, the part that is not sent yet. */
  readonly text: string;
  /** Where it goes. */
  readonly direction: GuardDirection;
  /**
   * The place: a path of the request such as `input[0].content`; in an answer `text`, `refusal`, `reasoning`,
   * `arguments`, `citation`, `search` or `item`; of a tool, the name that the model calls it by.
   */
  readonly place: string;
  /** The request's tenant; see the `scope` option. */
  readonly scope: string;
  /** The value of the `x-request-id` header of the answer. */
  readonly requestId: string;
  /** The host framework's own request; undefined if there is none. */
  readonly request: Req;
  /** Aborted when the client leaves or the guard's time is over. */
  readonly signal: AbortSignal;
}

/** A part of a text that may not be shown as it is. */
export interface GuardFinding {
  /** The first character, from 0. */
  readonly start: number;
  /** The index after the last character. */
  readonly end: number;
  /** The kind of finding, such as `EMAIL`; hooks receive it, and never the value. */
  readonly rule: string;
  /** What is shown instead. Default: the rule in brackets. */
  readonly text?: string | undefined;
}

/** What a guard decides about a text. */
export type GuardVerdict =
  /** The text may pass as it is. */
  | { readonly action: 'pass' }
  /** Parts of the text are replaced; they do not overlap and are in order. */
  | {
      readonly action: 'replace';
      /** The parts. */
      readonly findings: readonly GuardFinding[];
    }
  /** Another text takes the place of the whole. */
  | {
      readonly action: 'replace';
      /** The other text. */
      readonly text: string;
      /** The kind of finding. Default: `REPLACED`. */
      readonly rule?: string | undefined;
    }
  /** Nothing of the text may pass. */
  | {
      readonly action: 'block';
      /** Why, for the client; it should not repeat the text. */
      readonly reason: string;
      /** The kind of finding. Default: `BLOCKED`. */
      readonly rule?: string | undefined;
    };

/** The findings in a text that is still being written. */
export interface GuardScan {
  /** Those that begin at `from` or later and are certain, in order. */
  readonly findings: readonly GuardFinding[];
  /** Everything before this index is decided, whatever follows; `text.length` at the end. */
  readonly settled: number;
}

/** Inspects texts. What `inspect` throws, and anything but a verdict, is a failure of the guard. */
export interface Guard<Req = unknown> {
  /** A short name for hooks and messages. */
  readonly name: string;
  /** Default: `redact`. */
  readonly mode?: GuardMode | undefined;
  /** Milliseconds for one text. Default: 5,000. */
  readonly timeoutMs?: number | undefined;
  /** What happens to a text if the guard fails or takes too long. Default: `block`. */
  readonly onFailure?: 'block' | 'pass' | undefined;
  /**
   * Whether findings in what the model receives become numbered placeholders such as `[EMAIL_1]`, for which the answer
   * and the arguments of tools have the values again. For `input` only. Default: false.
   */
  readonly restore?: boolean | undefined;
  /** How many characters of a stream are held back, so that a finding as long as this is seen whole. Default: 128. */
  readonly lookahead?: number | undefined;
  /** Decides about one text. */
  inspect(subject: GuardSubject<Req>): MaybePromise<GuardVerdict>;
  /**
   * The same for a text that is still being written, if the guard knows what is decided already: `text` holds up to
   * 64 characters before `from`, which are sent already, and everything since; `isEnd` means that no more follows. It
   * must find in a text that comes in pieces what it finds in the whole. It is used for streams in the place of
   * `inspect`, which must find the same; without it a stream is inspected in windows of `lookahead` characters.
   */
  scan?(text: string, from: number, isEnd: boolean): GuardScan;
}

/** The guards of a router or middleware; each list is run in order, and each guard sees what the one before it left. */
export interface GuardOptions<Req = unknown> {
  /** For what the client sends: instructions, input items and messages. Default: none. */
  readonly input?: readonly Guard<Req>[] | undefined;
  /** For what the model writes. Default: none. */
  readonly output?: readonly Guard<Req>[] | undefined;
  /** For the arguments and the results of tools that the server runs. Default: none. */
  readonly tools?: readonly Guard<Req>[] | undefined;
}

/** What a guard has found in one text, or in a part of a stream, for the host's audit; never the text itself. */
export interface GuardInfo {
  /** The value of the `x-request-id` header of the answer. */
  readonly requestId: string;
  /** The tenant, as the `scope` option returns it. */
  readonly scope: string;
  /** The guard's name. */
  readonly guard: string;
  /** The kind of finding; `failure` if the guard failed. */
  readonly rule: string;
  /** Where the text goes. */
  readonly direction: GuardDirection;
  /** As in `GuardSubject`. */
  readonly place: string;
  /** What was done: `observed` and `passed` let the text pass, the latter although the guard failed. */
  readonly action: 'observed' | 'replaced' | 'blocked' | 'passed';
  /** How many findings of this rule. */
  readonly count: number;
}
