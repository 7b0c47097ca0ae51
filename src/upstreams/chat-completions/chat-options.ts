/** The options of `chatCompletionsUpstream`, checked once. */
import { boolean, checkOptions, oneOf } from '../../ports/host/options-check.ts';
import {
  openaiServer,
  type ServerOptions,
  type ServerSettings,
  serverChecks,
  serverSettings,
} from '../http/server-options.ts';
import type { BodyOptions } from './chat-body.ts';
import {
  isProviderName,
  PROVIDERS,
  type ProviderName,
  providerOf,
  type TokenCountWay,
  type ToolChoiceForms,
} from './providers.ts';

/** The address of the model server and its request settings. `undefined` means omitted. */
export interface ChatCompletionsOptions extends ServerOptions {
  /** Up to and including `/v1`. Default: `OPENAI_BASE_URL`, or OpenAI itself. */
  readonly baseURL?: string | undefined;
  /**
   * Sent as a bearer token; omitted if empty. Default: `OPENAI_API_KEY`, but only if `baseURL` is not
   * given either: a key belongs to its server and must not be sent to another one by omission.
   */
  readonly apiKey?: string | undefined;
  /**
   * The provider whose defaults the options below take: a name in docs/providers.md, or `auto`, by the address.
   * Default: `auto`.
   */
  readonly provider?: ProviderName | 'auto' | undefined;
  /** `merge` writes one leading system message, for templates that allow no other. Default: the provider's, or `keep`. */
  readonly systemMessages?: 'keep' | 'merge' | undefined;
  /** `keep` sends the developer role unchanged. Default: the provider's, or `system`, which every server supports. */
  readonly developerRole?: 'keep' | 'system' | undefined;
  /**
   * Whether reasoning is sent back with the tool calls it led to, in its original place. `auto`: unless the provider refuses
   * it. `false` also omits the sealed state that came with it. Default: `auto`.
   */
  readonly reasoningReplay?: 'auto' | boolean | undefined;
  /** Whether `<think>` at the start of the text is read as reasoning. Default: true. */
  readonly thinkTags?: boolean | undefined;
  /**
   * The forms of `tool_choice` that the server obeys. `all`: also `allowed_tools`. `names`: a tool by its name. `words`:
   * not even that, so a forced tool is sent alone with `required`. Default: the provider's, or `names`.
   */
  readonly toolChoice?: ToolChoiceForms | undefined;
  /** The field for `max_output_tokens`. Default: the provider's, or `max_tokens`. */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens' | undefined;
}

/** The options with every default filled in. */
export interface ChatSettings extends BodyOptions, ServerSettings {
  readonly baseURL: URL;
  readonly apiKey: string | undefined;
  readonly thinkTags: boolean;
  readonly tokenCount: TokenCountWay;
}

const NAME = 'chatCompletionsUpstream';

/** Fills in the defaults; throws a `TypeError` that names the option and quotes its value. */
export function chatSettings(options: ChatCompletionsOptions): ChatSettings {
  checkOptions(NAME, options, {
    ...serverChecks,
    provider: (value) => isProviderName(value) || oneOf('auto', ...Object.keys(PROVIDERS))(value),
    systemMessages: oneOf('keep', 'merge'),
    developerRole: oneOf('keep', 'system'),
    reasoningReplay: (value) => typeof value === 'boolean' || value === 'auto' || "'auto', true or false",
    thinkTags: boolean,
    toolChoice: oneOf('all', 'names', 'words'),
    maxTokensField: oneOf('max_tokens', 'max_completion_tokens'),
  });
  const server = openaiServer(NAME, options);
  const usual = providerOf(options.provider ?? 'auto', server.baseURL);
  const { reasoningReplay = 'auto' } = options;
  return {
    ...serverSettings(options),
    ...server,
    systemMessages: options.systemMessages ?? usual.systemMessages,
    developerRole: options.developerRole ?? usual.developerRole,
    reasoningReplay: reasoningReplay === 'auto' ? usual.reasoningReplay : reasoningReplay,
    reasoningField: usual.reasoningField,
    thinkTags: options.thinkTags ?? true,
    toolChoice: options.toolChoice ?? usual.toolChoice,
    tokenCount: usual.tokenCount,
    maxTokensField: options.maxTokensField ?? usual.maxTokensField,
  };
}
