/** The event vocabularies of a turn: the model's events, the turn's events for its encoders, and what clients receive. */
import type { ErrorBody } from './errors.ts';
import type {
  Annotation,
  ImageDetails,
  Item,
  ListedTool,
  LogProb,
  OutputItem,
  Part,
  PartialImage,
  PartType,
  ToolCallResult,
  ToolCallType,
  UrlSource,
  WebAction,
} from './items.ts';
import type { JsonObject } from './record.ts';

/** Tokens of one or more model calls; every field is a whole number and always present. */
export interface Usage {
  /** Tokens of the prompt, cached ones included. */
  readonly input_tokens: number;
  /** Parts of `input_tokens`. */
  readonly input_tokens_details: {
    /** Tokens that the model server read from its cache. */
    readonly cached_tokens: number;
    /** Zero if the model server does not report it; a field that a custom upstream omits counts as zero. */
    readonly cache_write_tokens?: number;
  };
  /** Tokens that the model wrote, reasoning included. */
  readonly output_tokens: number;
  /** Parts of `output_tokens`. */
  readonly output_tokens_details: {
    /** Tokens of the model's reasoning. */
    readonly reasoning_tokens: number;
  };
  /** The sum of input and output. */
  readonly total_tokens: number;
}

/** Zero usage. */
export const NO_USAGE: Usage = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
};

/** The tokens of two parts of a turn together. */
export function usageSum(one: Usage, other: Usage): Usage {
  const { input_tokens_details: input, output_tokens_details: output } = one;
  const { input_tokens_details: otherInput, output_tokens_details: otherOutput } = other;
  return {
    input_tokens: one.input_tokens + other.input_tokens,
    input_tokens_details: {
      cached_tokens: input.cached_tokens + otherInput.cached_tokens,
      cache_write_tokens: (input.cache_write_tokens ?? 0) + (otherInput.cache_write_tokens ?? 0),
    },
    output_tokens: one.output_tokens + other.output_tokens,
    output_tokens_details: { reasoning_tokens: output.reasoning_tokens + otherOutput.reasoning_tokens },
    total_tokens: one.total_tokens + other.total_tokens,
  };
}

/** Why a model stopped: by itself (`stop`, tool calls included), or truncated. */
export type FinishReason = 'stop' | 'length' | 'content_filter';

/**
 * The events of an upstream. It never opens or closes an item: the state machine does. `call` numbers the tool calls of
 * one model call from 0; the first delta of a call carries its whole name.
 */
export type ModelEvent =
  /** More of the answer's text. */
  | {
      readonly type: 'text-delta';
      /** The text to append. */
      readonly text: string;
      /** A list, or the JSON of its members separated by commas if that is at hand. */
      readonly logprobs?: readonly LogProb[] | string;
    }
  /** More of a refusal. */
  | {
      readonly type: 'refusal-delta';
      /** The text to append. */
      readonly text: string;
    }
  /** The next text belongs to another message. */
  | {
      readonly type: 'message-start';
      /** The message's purpose, such as `commentary`, if the model server reports it. */
      readonly phase?: string;
    }
  /** More of the model's reasoning. */
  | {
      readonly type: 'reasoning-delta';
      /** The text to append. */
      readonly text: string;
    }
  /** One reasoning item is complete. */
  | {
      readonly type: 'reasoning-end';
      /** The opaque state that its upstream needs back with it, as JSON. */
      readonly state: unknown;
    }
  /** More of a tool call. */
  | {
      readonly type: 'tool-call-delta';
      /** The number of the call in this model call, from 0. */
      readonly call: number;
      /** The model server's id for the call, if it has one. */
      readonly id?: string;
      /** The whole name; the first delta of a call has it. */
      readonly name?: string;
      /** The JSON text to append; empty for none. */
      readonly arguments: string;
      /** Further fields of a client's call, as the model server shows them; the first delta of a call has them. */
      readonly fields?: Readonly<Record<string, unknown>>;
    }
  /** A citation in the text so far. */
  | {
      readonly type: 'annotation';
      /** The source, and the place in the text. */
      readonly annotation: Annotation;
      /** Places it at the end of the text so far, regardless of its own indices: it has no position there. */
      readonly atEnd?: boolean;
    }
  /** The model made an image. */
  | {
      readonly type: 'image';
      /** The image in base64. */
      readonly result: string;
      /** Its format, size and so on; empty if the model server reports nothing. */
      readonly details: ImageDetails;
    }
  /** The model's own server searches the web. */
  | {
      readonly type: 'search-start';
      /** Its id for this search. */
      readonly search: string;
      /** What it does. */
      readonly action: WebAction;
    }
  /** The results of a search. */
  | {
      readonly type: 'search-end';
      /** The id of its `search-start`. */
      readonly search: string;
      /** Whether the search failed. */
      readonly failed: boolean;
      /** The pages that were found. */
      readonly sources: readonly UrlSource[];
      /** The opaque state that its upstream needs back with it, as JSON. */
      readonly state?: unknown;
    }
  /** The model's own server begins an item of a type that is shown to clients of the Responses API as it is. */
  | {
      readonly type: 'native-start';
      /** The number of the item among those of this model call, from 0. */
      readonly native: number;
      /** The item so far. */
      readonly item: Item;
    }
  /** More of such an item, in an event of its own type. */
  | {
      readonly type: 'native-progress';
      /** The number of its `native-start`. */
      readonly native: number;
      /** The event, without the place of the item. */
      readonly event: WireEvent;
    }
  /** Such an item is complete. */
  | {
      readonly type: 'native-end';
      /** The number of its `native-start`. */
      readonly native: number;
      /** The whole item. */
      readonly item: Item;
    }
  /** The tokens of this model call. */
  | {
      readonly type: 'usage';
      /** The tokens, in OpenAI's names. */
      readonly usage: Usage;
      /** The usage as the model server reported it, unchanged. */
      readonly reported?: Readonly<Record<string, unknown>>;
      /** In dollars. */
      readonly cost?: number | undefined;
    }
  /** The model that answers, as the model server reports it. */
  | {
      readonly type: 'model-info';
      /** Its name; undefined if it is not reported. */
      readonly model?: string;
      /** Its class of service; undefined if it is not reported. */
      readonly serviceTier?: string;
      /** The host's name for the server, if the upstream chose among several. */
      readonly server?: string;
      /** What its content filters found, in Azure's form; undefined for nothing. */
      readonly contentFilters?: readonly Readonly<Record<string, unknown>>[];
    }
  /** The end of the answer. */
  | {
      readonly type: 'finish';
      /** Why the model stopped. */
      readonly reason: FinishReason;
      /** The text that ended it, if the request named it as one that does. */
      readonly stopSequence?: string;
      /** Whether the model's context is full, so that a larger limit of tokens would not have helped. */
      readonly isContextFull?: true;
    }
  | RawChunk;

/**
 * A chunk of the model server, or a part of one, right after the events that were read from it: Chat Completions sends its
 * clients the model server's own chunks. The state machine only keeps it in order with the calls; no other API reads it.
 */
export interface RawChunk {
  /** The kind of event. */
  readonly type: 'raw';
  /** The text of the whole chunk. */
  readonly data: string;
  /** The chunk, or this part of it; undefined for a chunk of a single delta, which is read without parsing it. */
  readonly chunk: JsonObject | undefined;
  /** The number of the call that it belongs to; undefined for anything else. */
  readonly call: number | undefined;
  /** Whether it holds output of the model besides calls, which keeps its place among them. */
  readonly isOutput: boolean;
  /** Whether it ends the answer: nothing of the answer waits longer. */
  readonly isEnd: boolean;
  /** The position of the part, from 0. */
  readonly part: number;
  /** How many parts there are of the chunk. */
  readonly parts: number;
}

/** Why a turn ended before the model was done. */
export type IncompleteReason =
  | 'max_output_tokens'
  | 'content_filter'
  | 'max_tool_calls'
  | 'max_tool_iterations'
  | 'repeated_tool_calls'
  | 'steered';

/**
 * The input of a turn besides the model. `index` is the output index of the call that a result is for, `stop` is the
 * reason why the server does not let the model continue, and `at` is in Unix seconds.
 */
type TurnControl =
  | { readonly type: 'start' }
  /** Another model call begins; `isForced` is whether the request's forced tool is still to be called. */
  | { readonly type: 'model-call'; readonly isForced: boolean }
  /** The process that made the response is gone, and this one goes on: what the model had begun ends as it is. */
  | { readonly type: 'resume' }
  | { readonly type: 'tools-listed'; readonly server: string; readonly tools: readonly ListedTool[] }
  /** The user has approved this call of an earlier turn; `name` is the model's. */
  | ({ readonly type: 'call-approved' } & ApprovedCall)
  /** A program of an earlier turn goes on; `index` is below every place in the output, since its item is in none. */
  | ({ readonly type: 'program-resumed'; readonly index: number } & ResumedProgram)
  | ({ readonly type: 'tool-result'; readonly index: number } & ToolCallResult)
  /** The model has begun the summary that the client requested. */
  | { readonly type: 'compacting' }
  | { readonly type: 'partial-image'; readonly index: number; readonly image: PartialImage }
  /** The conversation was compacted, at that cost. */
  | {
      readonly type: 'compacted';
      readonly encrypted: string;
      readonly usage: Usage;
      readonly cost?: number | undefined;
    }
  | { readonly type: 'keepalive' }
  | { readonly type: 'fail'; readonly error: TurnError }
  | { readonly type: 'stop'; readonly reason: IncompleteReason }
  | { readonly type: 'end'; readonly at: number };

/** A call that the user has approved, exactly as it was written. */
export interface ApprovedCall {
  /** The model's current name for the tool. */
  readonly name: string;
  readonly arguments: string;
  readonly approvalRequestId: string;
  /** The `call_id` of the program that made it; undefined for the model itself. */
  readonly program?: string | undefined;
}

/** A program that waited for the client. */
export interface ResumedProgram {
  /** The model's current name for the tool. */
  readonly name: string;
  readonly callId: string;
  readonly code: string;
}

export type TurnInput = ModelEvent | TurnControl;

/** An error with the HTTP status it has if a status can still be sent. */
export interface TurnError extends ErrorBody {
  readonly status?: number;
  /** For the host only. */
  readonly cause?: unknown;
  /** As in `ApiError`, like the next. */
  readonly server?: string | undefined;
  readonly advice?: string | undefined;
}

/** Metadata that model servers reported with their answers in one turn; what none reported is undefined. */
export interface UpstreamFacts {
  /** From the last answer that reported it; the tier, the server and the usage likewise. */
  readonly model?: string;
  readonly serviceTier?: string;
  readonly server?: string;
  readonly stopSequence?: string;
  readonly isContextFull?: true;
  readonly contentFilters?: readonly Readonly<Record<string, unknown>>[];
  /** Unchanged. */
  readonly usage?: Readonly<Record<string, unknown>>;
  /** Of all answers that reported a cost, in dollars. */
  readonly cost?: number;
}

/** How a turn ended, with everything its final snapshot needs. */
export interface TurnEnd {
  readonly type: 'turn-end';
  readonly sequence: number;
  readonly status: 'completed' | 'incomplete' | 'failed';
  readonly output: readonly OutputItem[];
  readonly usage: Usage;
  /** Absent if nothing was reported. */
  readonly upstream?: UpstreamFacts;
  readonly completedAt: number | null;
  readonly reason: IncompleteReason | null;
  readonly error: TurnError | null;
}

/** Set where a response has several agents. */
interface OfAgent {
  /** The name of the agent that the event belongs to. */
  readonly agent?: string;
}

/** The position of an event in the output: the item's index and id, and the part's index in the item. */
interface InItem extends OfAgent {
  readonly sequence: number;
  readonly index: number;
  readonly itemId: string;
}
interface InPart extends InItem {
  readonly partIndex: number;
}

/** Why a call of the model is neither run nor shown: the request does not allow it, forces another one first, or allows one at a time, or its name can be no tool's. */
export type CallRefusal = 'not_allowed' | 'unknown' | 'not_forced' | 'not_alone';

/**
 * The events of a turn. Starts and ends balance, and the last event is one `turn-end`. Each event with a `sequence` is
 * exactly one wire event; the others may produce none. `logprobs` is the JSON of each, separated by commas.
 */
export type TurnEvent =
  | { readonly type: 'turn-start'; readonly sequence: number }
  | { readonly type: 'turn-queued'; readonly sequence: number }
  | { readonly type: 'turn-progress'; readonly sequence: number }
  | ({
      readonly type: 'item-start';
      readonly sequence: number;
      readonly index: number;
      readonly item: OutputItem;
    } & OfAgent)
  | ({ readonly type: 'part-start'; readonly part: Part } & InPart)
  | ({
      readonly type: 'part-delta';
      readonly part: PartType;
      readonly text: string;
      readonly logprobs: string;
    } & InPart)
  | ({
      readonly type: 'text-end';
      readonly part: PartType;
      readonly text: string;
      readonly logprobs: string;
    } & InPart)
  | ({
      readonly type: 'annotation';
      readonly annotationIndex: number;
      readonly annotation: Annotation;
    } & InPart)
  | ({ readonly type: 'part-end'; readonly part: Part } & InPart)
  | ({ readonly type: 'arguments-delta'; readonly call: ToolCallType; readonly text: string } & InItem)
  | ({
      readonly type: 'arguments-end';
      readonly call: ToolCallType;
      readonly name: string;
      readonly arguments: string;
    } & InItem)
  /** `kind` is the type of the call's item, and `state` its progress. */
  | ({ readonly type: 'call-state'; readonly kind: OutputItem['type']; readonly state: string } & InItem)
  | ({ readonly type: 'partial-image'; readonly kind: OutputItem['type']; readonly image: PartialImage } & InItem)
  /** An event that only one type of item has, in its fields besides the item's place: of the model's own server, or of this one. */
  | ({ readonly type: 'native-progress'; readonly event: WireEvent } & InItem)
  | ({ readonly type: 'list-progress' } & InItem)
  | ({ readonly type: 'list-end' } & InItem)
  | ({
      readonly type: 'item-end';
      readonly sequence: number;
      readonly index: number;
      readonly item: OutputItem;
    } & OfAgent)
  /** What the client has sent for agents that waited for it is part of the response. */
  | { readonly type: 'input-injected'; readonly sequence: number }
  | { readonly type: 'call-dropped'; readonly name: string; readonly why: CallRefusal | 'cut_off' }
  | RawChunk
  | { readonly type: 'heartbeat' }
  | { readonly type: 'keepalive'; readonly sequence: number }
  | { readonly type: 'error'; readonly sequence: number; readonly error: TurnError }
  | TurnEnd;

/** Its fields except `sequence_number`, which follows the type when the event is written. */
export type WireEvent = Readonly<Record<string, unknown>> & {
  /** The API's name of the event, such as `response.output_item.added`. */
  readonly type: string;
};
