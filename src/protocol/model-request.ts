/** The request to a model, independent of any API's spelling. */
import type { Item } from './items.ts';

/** A function that the model may call. */
export interface ToolDefinition {
  /** The name that the model calls it by. */
  readonly name: string;
  /** What it does, for the model. */
  readonly description?: string;
  /** JSON Schema of the arguments. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** Whether the model server must make the arguments match the schema. */
  readonly strict?: boolean;
}

/** Whether the model must call a tool, and which. */
export type ToolChoice =
  | 'auto'
  | 'none'
  | 'required'
  | {
      /** The tool that the model must call. */
      readonly name: string;
    };

/** The required format of the model's text. */
export type TextFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json_object' }
  | {
      readonly type: 'json_schema';
      /** The schema's name. */
      readonly name: string;
      /** What the text is for, for the model. */
      readonly description?: string;
      /** The JSON Schema that the text must match. */
      readonly schema?: Readonly<Record<string, unknown>>;
      /** Whether the model server must enforce the schema. */
      readonly strict?: boolean;
    };

/** One model call, independent of any API's spelling. `items` is the whole conversation, history first. */
export interface ModelRequest {
  /** The model's name at the model server. */
  readonly model: string;
  /** The system prompt. */
  readonly instructions?: string;
  /** The whole conversation, history first. */
  readonly items: readonly Item[];
  /** The functions that the model may call; empty for none. */
  readonly tools: readonly ToolDefinition[];
  /** Whether the model must call one of them. */
  readonly toolChoice?: ToolChoice;
  /** Whether the model may call several tools at once. */
  readonly parallelToolCalls?: boolean;
  /** The required format of the text. Default: free text. */
  readonly textFormat?: TextFormat;
  /** How long answers are, such as `low`. */
  readonly verbosity?: string;
  /** How much the model reasons, such as `high`. */
  readonly reasoningEffort?: string;
  /** The maximum number of tokens that the model may write, reasoning included. */
  readonly maxOutputTokens?: number;
  /** The randomness of the sampling; from 0 to 2 at most servers. */
  readonly temperature?: number;
  /** The share of the probability that is sampled from; from 0 to 1. */
  readonly topP?: number;
  /** Makes tokens that occurred less likely; from -2 to 2. */
  readonly presencePenalty?: number;
  /** Makes tokens less likely the more often they occurred; from -2 to 2. */
  readonly frequencyPenalty?: number;
  /** Number of alternatives for each token; undefined requests no log probabilities. */
  readonly topLogprobs?: number;
  /** The client's own names and values. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** The model server's class of service, such as `flex`. */
  readonly serviceTier?: string;
  /** A stable id of the end user, for the model server's abuse checks. */
  readonly safetyIdentifier?: string;
  /** Groups requests with a common prefix, for the model server's cache. */
  readonly promptCacheKey?: string;
  /** The older name of the end user's id. */
  readonly user?: string;
}
