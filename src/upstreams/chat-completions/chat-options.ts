/** The options of `chatCompletionsUpstream`, checked once. */
import { checkOptions } from '../../ports/host/options-check.ts';
import {
  boolean,
  openaiServer,
  type ServerOptions,
  type ServerSettings,
  serverChecks,
  serverSettings,
} from '../http/server-options.ts';
import type { BodyOptions } from './chat-body.ts';
import { isProviderName, PROVIDERS, type ProviderName, providerOf } from './providers.ts';

export type { UpstreamHeaders } from '../http/server-options.ts';

/** Where the model server is, and how it likes its requests. `undefined` means omitted. */
export interface ChatCompletionsOptions extends ServerOptions {
  /** Up to and including `/v1`. Default: `OPENAI_BASE_URL`, or OpenAI itself. */
  readonly baseURL?: string | undefined;
  /**
   * Sent as a bearer token; none is sent where there is none. Default: `OPENAI_API_KEY`, but only where `baseURL` is not
   * given either: a key belongs to its server, and must not go to another one by omission.
   */
  readonly apiKey?: string | undefined;
  /**
   * Whose manners the options below have where they are not given: a name of docs/providers.md, or `auto`, by the address.
   * Default: `auto`.
   */
  readonly provider?: ProviderName | 'auto' | undefined;
  /** `merge` writes one leading system message, for templates that allow no other. Default: the provider's, or `keep`. */
  readonly systemMessages?: 'keep' | 'merge' | undefined;
  /** `keep` sends the developer role as it is. Default: the provider's, or `system`, which every server knows. */
  readonly developerRole?: 'keep' | 'system' | undefined;
  /**
   * Whether reasoning goes back with the calls it led to, where it stood in the answer. `auto`: unless the provider refuses
   * it. `false` keeps back what came sealed with it, too. Default: `auto`.
   */
  readonly reasoningReplay?: 'auto' | boolean | undefined;
  /** Whether `<think>` at the start of the text is read as reasoning. Default: true. */
  readonly thinkTags?: boolean | undefined;
  /** The field for `max_output_tokens`. Default: the provider's, or `max_tokens`. */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens' | undefined;
}

/** The options with every default filled in. */
export interface ChatSettings extends BodyOptions, ServerSettings {
  readonly baseURL: URL;
  readonly apiKey: string | undefined;
  readonly thinkTags: boolean;
}

const NAME = 'chatCompletionsUpstream';
const oneOf =
  (...values: readonly string[]) =>
  (value: unknown) =>
    values.includes(value as string) || `one of ${values.map((known) => `'${known}'`).join(', ')}`;

/** Fills in the defaults; throws a `TypeError` that names the option and quotes its value. */
export function chatSettings(options: ChatCompletionsOptions): ChatSettings {
  checkOptions(NAME, options, {
    ...serverChecks,
    provider: (value) => isProviderName(value) || oneOf('auto', ...Object.keys(PROVIDERS))(value),
    systemMessages: oneOf('keep', 'merge'),
    developerRole: oneOf('keep', 'system'),
    reasoningReplay: (value) => typeof value === 'boolean' || value === 'auto' || "'auto', true or false",
    thinkTags: boolean,
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
    maxTokensField: options.maxTokensField ?? usual.maxTokensField,
  };
}
