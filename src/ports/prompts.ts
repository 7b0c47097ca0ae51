/** The port of prompts: templates of the host's that requests name by their id. */
import type { JsonObject } from '../protocol/record.ts';
import type { MaybePromise } from './store.ts';

/** A template. `{{name}}` in its texts stands for the variable of that name. */
export interface Prompt {
  /** The version that the response names; by default the one that the request does. */
  readonly version?: string | undefined;
  /** The instructions, unless the request has its own. */
  readonly instructions?: string | undefined;
  /** Messages in front of the request's input, in the form of the Responses API; a part whose text is one variable may become an image or a file. */
  readonly input?: readonly JsonObject[] | undefined;
  /** Other fields of the request, such as `model`, `tools` and `temperature`, unless the request has its own. */
  readonly settings?: JsonObject | undefined;
}

/** The prompt that a request names. */
export interface PromptQuery {
  /** Its id, as the client writes it. */
  readonly id: string;
  /** Undefined for the newest one. */
  readonly version: string | undefined;
}

/** Finds a prompt; undefined if there is none. `request` is the host framework's own. */
export type PromptsOf<Req = unknown> = (query: PromptQuery, request: Req) => MaybePromise<Prompt | undefined>;
