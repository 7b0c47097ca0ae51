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
  /** JSON Schema of the JSON that its outputs hold, where the client gives one. */
  readonly outputSchema?: Readonly<Record<string, unknown>> | undefined;
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

/** A tool of the client's, as it sent it. */
export interface NativeTool {
  /** The tool in the API's form. */
  readonly tool: Readonly<Record<string, unknown>>;
  /** The names of the functions that stand for it at servers that take only functions; empty for a tool that a server runs. */
  readonly names: readonly string[];
}

/** What a server that speaks the Responses API receives as the client sent it. */
export interface NativeRequest {
  /** The tools that nobody serves here. */
  readonly tools: readonly NativeTool[];
  /** The names of functions that the conversation itself offers, since the client has found them. */
  readonly found: ReadonlySet<string>;
  /** What the client's choice of tools says of those that the model's server runs. */
  readonly choice: readonly Readonly<Record<string, unknown>>[];
  /** The fields that the client wants to be shown of that server's items. */
  readonly include: readonly string[];
  /** What this server serves itself. */
  readonly served: {
    /** Types of tools. */
    readonly types: ReadonlySet<unknown>;
    /** Labels of MCP servers. */
    readonly labels: ReadonlySet<unknown>;
  };
}

/** The settings of a model server's cache. */
export interface PromptCacheOptions {
  /** `implicit` lets the model server divide the prompt, `explicit` does not. */
  readonly mode?: string;
  /** How long the cache keeps a part at least, such as `30m`. */
  readonly ttl?: string;
}

/** How the model server checks the input and the answer. */
export interface Moderation {
  /** The name of the model that checks. */
  readonly model: string;
  /** What follows from its verdicts, in the fields of the API. */
  readonly policy?: Readonly<Record<string, unknown>>;
}

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
  /** What a server that speaks the Responses API receives in their place; undefined if the model may be asked elsewhere. */
  readonly native?: NativeRequest | undefined;
  /** Whether the model must call one of them. */
  readonly toolChoice?: ToolChoice;
  /**
   * The names of the only tools that it may call, if it is offered others too. A server that knows no such choice need
   * not receive them: other calls are not made, and the model is told.
   */
  readonly allowedTools?: readonly string[];
  /** False if no tool may reach the live web, not even one of the model server's own. */
  readonly externalWebAccess?: false;
  /** Whether the model may call several tools at once. */
  readonly parallelToolCalls?: boolean;
  /** How many calls of its own tools the model server may still run; 0 for none. Default: as many as it likes. */
  readonly maxToolCalls?: number;
  /** The required format of the text. Default: free text. */
  readonly textFormat?: TextFormat;
  /** How long answers are, such as `low`. */
  readonly verbosity?: string;
  /** How much the model reasons, such as `high`. */
  readonly reasoningEffort?: string;
  /** How the model summarises its reasoning, such as `auto`. */
  readonly reasoningSummary?: string;
  /** Whether Anthropic's models summarise their thoughts. */
  readonly thinkingDisplay?: 'summarized' | 'omitted' | undefined;
  /** The maximum number of tokens that the model may write, reasoning included. */
  readonly maxOutputTokens?: number;
  /** The randomness of the sampling; from 0 to 2 at most servers. */
  readonly temperature?: number;
  /** The share of the probability that is sampled from; from 0 to 1. */
  readonly topP?: number;
  /** How many of the likeliest tokens are sampled from. */
  readonly topK?: number;
  /** Texts that end the answer before they are written. */
  readonly stopSequences?: readonly string[];
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
  /** How the model server's cache divides the prompt, and how long it keeps the parts. */
  readonly promptCacheOptions?: PromptCacheOptions;
  /** How long the model server's cache keeps a prompt, such as `24h`. */
  readonly promptCacheRetention?: string;
  /** The model server's check of the input and of the answer. */
  readonly moderation?: Moderation;
  /** The older name of the end user's id. */
  readonly user?: string;
}
