/** The request to a model, independent of any API's spelling. */
import type { Item } from './items.ts';

/** A function that the model may call. */
export interface ToolDefinition {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of the arguments. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly strict?: boolean;
}

/** Whether the model must call a tool, and which. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

/** The required format of the model's text. */
export type TextFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json_object' }
  | {
      readonly type: 'json_schema';
      readonly name: string;
      readonly description?: string;
      readonly schema?: Readonly<Record<string, unknown>>;
      readonly strict?: boolean;
    };

/** One model call, independent of any API's spelling. `items` is the whole conversation, history first. */
export interface ModelRequest {
  readonly model: string;
  readonly instructions?: string;
  readonly items: readonly Item[];
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice?: ToolChoice;
  readonly parallelToolCalls?: boolean;
  readonly textFormat?: TextFormat;
  readonly verbosity?: string;
  readonly reasoningEffort?: string;
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  /** Number of alternatives for each token; undefined requests no log probabilities. */
  readonly topLogprobs?: number;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly serviceTier?: string;
  readonly safetyIdentifier?: string;
  readonly promptCacheKey?: string;
  readonly user?: string;
}
