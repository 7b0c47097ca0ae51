/** The options of `anthropicUpstream`, checked once. */
import { boolean, checkOptions, isOneOf, type OptionCheck, positiveInteger } from '../../ports/host/options-check.ts';
import { isFilledText, isRecord } from '../../protocol/record.ts';
import { basePath } from '../http/base-path.ts';
import {
  envKey,
  type ServerOptions,
  type ServerSettings,
  serverChecks,
  serverSettings,
  serverURL,
  string,
} from '../http/server-options.ts';
import { ADAPTIVE_THINKING, isThinking, type ThinkingTable } from './thinking.ts';

/** The address of the model server and the form of requests to it. `undefined` means omitted. */
export interface AnthropicOptions extends ServerOptions {
  /** With or without `/v1`. Default: `ANTHROPIC_BASE_URL`, or Anthropic itself. */
  readonly baseURL?: string | undefined;
  /**
   * Sent as `x-api-key`. Default: `ANTHROPIC_API_KEY`, but only if `baseURL` is not given either: a key belongs to
   * its server and must not be sent to another one by omission.
   */
  readonly apiKey?: string | undefined;
  /** The `anthropic-version` header. Default: `2023-06-01`. */
  readonly version?: string | undefined;
  /** `max_tokens`, which the API requires, for requests without `max_output_tokens`. Default: 8192. */
  readonly maxTokens?: number | undefined;
  /**
   * How `reasoning.effort` is mapped, or a function that returns the mapping for a model. Default: `ADAPTIVE_THINKING`;
   * models before Claude 4.6 need `BUDGET_THINKING`.
   */
  readonly thinking?: ThinkingTable | ((model: string) => ThinkingTable) | undefined;
  /** Whether thoughts are summarised or omitted. Default: the model decides. */
  readonly thinkingDisplay?: 'summarized' | 'omitted' | undefined;
  /** Whether the prompt is cached: marks the system prompt, the tools and the last message. Default: false. */
  readonly promptCache?: boolean | undefined;
  /**
   * Anthropic's own tools, which its servers run, sent unchanged with every request, such as
   * `{ type: 'web_search_20250305', name: 'web_search' }`. Their results cost tokens and extra fees. Default: none.
   */
  readonly serverTools?: readonly ServerTool[] | undefined;
  /**
   * What happens to a conversation that ends with the assistant: `user` adds a short message of the user's, `any` lets the
   * model go on with the text. Default: `any` for models before Claude 4.6, `user` for all others, which refuse it.
   */
  readonly lastMessage?: 'any' | 'user' | undefined;
}

/** A tool that Anthropic's servers run; further fields are the API's. */
export interface ServerTool {
  /** The API's name for the tool and its version, such as `web_search_20250305`. */
  readonly type: string;
  /** The name by which the model calls it. */
  readonly name: string;
  readonly [field: string]: unknown;
}

/** The options with every default filled in. */
export interface AnthropicSettings extends ServerSettings {
  readonly baseURL: URL;
  readonly apiKey: string | undefined;
  readonly version: string;
  readonly maxTokens: number;
  readonly thinking: (model: string) => ThinkingTable;
  readonly thinkingDisplay: 'summarized' | 'omitted' | undefined;
  readonly promptCache: boolean;
  readonly serverTools: readonly ServerTool[];
  readonly lastMessage: (model: string) => 'any' | 'user';
}

const NAME = 'anthropicUpstream';

const thinkingOption: OptionCheck = (value) =>
  typeof value === 'function' ||
  (isRecord(value) && Object.values(value).every(isThinking)) ||
  "a function, or an object of 'off', budgets from 1024 and effort names";

// A `custom` tool belongs to the client, whatever its name.
const serverToolsOption: OptionCheck = (value) =>
  (Array.isArray(value) &&
    value.every(
      (tool) => isRecord(tool) && isFilledText(tool.type) && tool.type !== 'custom' && isFilledText(tool.name),
    )) ||
  'a list of tools, each with a type of its own and a name';

/** Fills in the defaults; throws a `TypeError` that names the option and quotes its value. */
export function anthropicSettings(options: AnthropicOptions): AnthropicSettings {
  checkOptions(NAME, options, {
    ...serverChecks,
    version: string,
    maxTokens: positiveInteger,
    thinking: thinkingOption,
    thinkingDisplay: (value) => value === 'summarized' || value === 'omitted' || "'summarized' or 'omitted'",
    promptCache: boolean,
    serverTools: serverToolsOption,
    lastMessage: isOneOf('any', 'user'),
  });
  const { thinking = ADAPTIVE_THINKING, lastMessage } = options;
  // Anthropic's own clients use the address without `/v1`, all others use it with `/v1`.
  const url = serverURL(NAME, options.baseURL ?? (process.env.ANTHROPIC_BASE_URL || 'https://api.anthropic.com'));
  const path = basePath(url);
  url.pathname = path.endsWith('/v1') ? path : `${path}/v1`;
  return {
    ...serverSettings(options),
    baseURL: url,
    apiKey: options.apiKey ?? (options.baseURL === undefined ? envKey(NAME, 'ANTHROPIC_API_KEY') : undefined),
    version: options.version ?? '2023-06-01',
    maxTokens: options.maxTokens ?? 8192,
    thinking: typeof thinking === 'function' ? thinking : () => thinking,
    thinkingDisplay: options.thinkingDisplay,
    promptCache: options.promptCache ?? false,
    serverTools: options.serverTools ?? [],
    lastMessage: (model) => lastMessage ?? (CONTINUES_ASSISTANT.test(model) ? 'any' : 'user'),
  };
}

/** Models that go on with the assistant's last message: those before Claude 4.6. */
const CONTINUES_ASSISTANT = /claude-(?:v?[123]\b|instant|(?:opus|sonnet|haiku)-4(?:-[0-5]\b|-20\d|[@:]|$))/;
