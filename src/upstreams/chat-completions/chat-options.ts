/** The options of `chatCompletionsUpstream`, checked once. */

import { boolean, checkOptions, isOneOf, type OptionCheck } from '../../ports/host/options-check.ts';
import { REASONING_FIELDS } from '../../protocol/chat-completions/reasoning-fields.ts';
import { nameTest } from '../../protocol/name-patterns.ts';
import { isRecord } from '../../protocol/record.ts';
import { CALL_ID_FORMS, type CallIdForm } from '../../protocol/tool-calls/names/call-ids.ts';
import { SCHEMA_DIALECTS, type SchemaDialect } from '../../protocol/tool-schemas/dialects.ts';
import {
  openaiServer,
  type ServerOptions,
  type ServerSettings,
  serverChecks,
  serverSettings,
} from '../http/server-options.ts';
import {
  EFFORTS,
  type Effort,
  findProvider,
  type ImageDetail,
  PROVIDERS,
  type ProviderOption,
  type ProviderSettings,
  REFUSABLE_FIELDS,
  type RefusableField,
  type ToolChoiceForms,
} from './providers.ts';
import type { ServerKind } from './server-kind.ts';

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
  readonly provider?: ProviderOption | undefined;
  /** `merge` writes one leading system message, for templates that allow no other. Default: the provider's, or `keep`. */
  readonly systemMessages?: 'keep' | 'merge' | undefined;
  /** `keep` sends the developer role unchanged. Default: the provider's, or `system`, which every server supports. */
  readonly developerRole?: 'keep' | 'system' | undefined;
  /**
   * Whether reasoning is sent back with the tool calls it led to, in its original place. `auto`: unless the provider refuses
   * it. `false` also omits the sealed state that came with it. Default: `auto`.
   */
  readonly reasoningReplay?: 'auto' | boolean | undefined;
  /** The field for reasoning that is sent back, until the model has shown which one it writes. Default: the provider's, or `reasoning_content`. */
  readonly reasoningField?: ProviderSettings['reasoningField'] | undefined;
  /** Whether every message of the assistant must hold reasoning. Default: the provider's, or false. */
  readonly reasoningRequired?: boolean | undefined;
  /**
   * Whether `<think>` at the start of the text is read as reasoning. `prompted`: the template of the model may have
   * written it into the prompt, so text up to the first `</think>` is reasoning, and is held back until then. Default:
   * `prompted` for models such as DeepSeek-R1, QwQ and Qwen3-Thinking on servers of your own, and true for all others.
   */
  readonly thinkTags?: boolean | 'prompted' | undefined;
  /**
   * The forms of `tool_choice` that the server obeys. `all`: also `allowed_tools`. `names`: a tool by its name. `words`:
   * not even that, so a forced tool is sent alone with `required`. `auto`: no other word, so a forced tool is sent alone,
   * and none at all with `none`. Default: the provider's, or `names`.
   */
  readonly toolChoice?: ToolChoiceForms | undefined;
  /** The field for `max_output_tokens`. Default: the provider's, or `max_tokens`. */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens' | undefined;
  /**
   * The most tokens that a request may ask for: one number, or one for each model name or pattern with `*`, such as
   * `{ 'small-*': 8192 }`. A higher `max_output_tokens` is lowered. Default: the provider's, or no limit.
   */
  readonly maxOutputTokens?: number | Readonly<Record<string, number>> | undefined;
  /** The request fields that the server refuses; they are left out. Default: the provider's, or none. */
  readonly refusedFields?: readonly RefusableField[] | undefined;
  /** The reasoning efforts that the server accepts; another one becomes the nearest of them. Default: the provider's, or all. */
  readonly efforts?: readonly Effort[] | undefined;
  /** The details of images that it accepts. Default: the provider's, or `auto`, `low` and `high`. */
  readonly imageDetails?: readonly ImageDetail[] | undefined;
  /** The ids of tool calls that it accepts: `short` up to 40 characters, `long` up to 64, `word`, `mistral`. Default: the provider's, or `any`. */
  readonly callIds?: CallIdForm | undefined;
  /** The most characters of a tool's name. A longer one is shortened, and restored in the answer. Default: the provider's, or no limit. */
  readonly maxToolName?: number | undefined;
  /** The most characters of a tool's description. Default: the provider's, or no limit. */
  readonly maxToolDescription?: number | undefined;
  /** The text formats that it answers only in one piece; such requests are sent without `stream`. Default: the provider's, or none. */
  readonly unstreamedFormats?: ProviderSettings['unstreamedFormats'] | undefined;
  /** The JSON Schemas of tools that it accepts; others are loosened. Default: the provider's, or `any`. */
  readonly toolSchemas?: SchemaDialect | undefined;
  /**
   * What happens to a conversation that ends with the assistant: `user` adds a short message of the user's, `prefix` marks
   * the last one for Mistral. Default: the provider's, or `any`.
   */
  readonly lastMessage?: 'any' | 'user' | 'prefix' | undefined;
  /**
   * `assistant` adds a short message of the assistant's where a message of the user's follows the results of tools. Default:
   * the provider's, or `any`.
   */
  readonly afterToolResults?: 'any' | 'assistant' | undefined;
  /** `omit` leaves out text of white space beside tool calls. Default: the provider's, or `keep`. */
  readonly blankText?: 'keep' | 'omit' | undefined;
  /**
   * Whether the server fetches files by their URL, which it receives as `file_data`. If not, requests with a `file_url` are
   * refused, unless the router fetches the files. Default: the provider's, or false.
   */
  readonly fileUrls?: boolean | undefined;
  /**
   * Whether the server reports the cost of an answer after the end marker of the stream. The end of the response then waits
   * for it, up to a second; its text does not. Default: the provider's, or false.
   */
  readonly costAfterDone?: boolean | undefined;
}

/** The options with every default filled in. */
export interface ChatSettings extends ProviderSettings, ServerSettings {
  readonly baseURL: URL;
  readonly apiKey: string | undefined;
  readonly thinkTags: (model: string) => boolean | 'prompted';
  readonly serverKind: ServerKind;
}

const NAME = 'chatCompletionsUpstream';

function listFrom(...values: readonly string[]): OptionCheck {
  // The cast: a value that is no text is not among them.
  const isList = (value: unknown) => Array.isArray(value) && value.every((each) => values.includes(each as string));
  return (value) => isList(value) || `a list of ${values.map((value) => `'${value}'`).join(', ')}`;
}

function isWholeFrom(least: number, value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= least;
}

function wholeNumberFrom(least: number): OptionCheck {
  return (value) => isWholeFrom(least, value) || `a whole number from ${least}`;
}

const CAPS: OptionCheck = (value) =>
  isWholeFrom(1, value) ||
  (isRecord(value) && Object.values(value).every((cap) => isWholeFrom(1, cap))) ||
  'a whole number from 1, or an object of them by the names of models';

/** Fills in the defaults; throws a `TypeError` that names the option and quotes its value. */
export function chatSettings(options: ChatCompletionsOptions): ChatSettings {
  checkOptions(NAME, options, {
    ...serverChecks,
    provider: isOneOf('auto', ...Object.keys(PROVIDERS)),
    systemMessages: isOneOf('keep', 'merge'),
    developerRole: isOneOf('keep', 'system'),
    reasoningReplay: (value) => typeof value === 'boolean' || value === 'auto' || "'auto', true or false",
    reasoningField: isOneOf(...REASONING_FIELDS),
    reasoningRequired: boolean,
    thinkTags: (value) => typeof value === 'boolean' || value === 'prompted' || "true, false or 'prompted'",
    toolChoice: isOneOf('all', 'names', 'words', 'auto'),
    maxTokensField: isOneOf('max_tokens', 'max_completion_tokens'),
    maxOutputTokens: CAPS,
    refusedFields: listFrom(...REFUSABLE_FIELDS),
    efforts: listFrom(...EFFORTS),
    imageDetails: listFrom('auto', 'low', 'high', 'original'),
    callIds: isOneOf(...CALL_ID_FORMS),
    // A shortened name ends in a digest.
    maxToolName: wholeNumberFrom(16),
    maxToolDescription: wholeNumberFrom(1),
    unstreamedFormats: listFrom('json_object', 'json_schema'),
    toolSchemas: isOneOf(...SCHEMA_DIALECTS),
    lastMessage: isOneOf('any', 'user', 'prefix'),
    afterToolResults: isOneOf('any', 'assistant'),
    blankText: isOneOf('keep', 'omit'),
    fileUrls: boolean,
    costAfterDone: boolean,
  });
  const server = openaiServer(NAME, options);
  const usual = findProvider(options.provider ?? 'auto', server.baseURL);
  const { reasoningReplay = 'auto', maxOutputTokens: caps } = options;
  nameTest(`${NAME}: maxOutputTokens`, Object.keys(isRecord(caps) ? caps : {}));
  const given = Object.fromEntries(
    Object.keys(usual).flatMap((name) => {
      // The cast: the names of a provider's settings are names of options, but for its hosts, which nobody gives.
      const value = options[name as keyof ProviderSettings];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
  return {
    ...usual,
    ...given,
    ...serverSettings(options),
    ...server,
    reasoningReplay: reasoningReplay === 'auto' ? usual.reasoningReplay : reasoningReplay,
    maxOutputTokens: typeof caps === 'number' ? { '*': caps } : (caps ?? usual.maxOutputTokens),
    thinkTags: (model) => options.thinkTags ?? (usual.hosts.length === 0 && PROMPTED.test(model) ? 'prompted' : true),
  };
}

/** Models whose templates begin the thought; hosted providers separate it themselves. */
const PROMPTED = /deepseek-r1|r1-distill|\bqwq|qwen3[\w.-]{0,40}-thinking/i;
