/** The request settings of known providers of the Chat Completions API; docs/providers.md lists the sources. */
import type { ReasoningField } from '../../protocol/chat-completions/reasoning-fields.ts';
import type { CallIdForm } from '../../protocol/tool-calls/names/call-ids.ts';
import type { SchemaDialect } from '../../protocol/tool-schemas/dialects.ts';
import type { ServerKind } from './server-kind.ts';

/** A request field that may be left out without changing what is asked. */
export type RefusableField =
  | 'stream_options'
  | 'parallel_tool_calls'
  | 'temperature'
  | 'top_p'
  | 'top_k'
  | 'stop'
  | 'presence_penalty'
  | 'frequency_penalty'
  | 'logprobs'
  | 'top_logprobs'
  | 'verbosity'
  | 'reasoning_effort'
  | 'metadata'
  | 'service_tier'
  | 'safety_identifier'
  | 'prompt_cache_key'
  | 'prompt_cache_options'
  | 'prompt_cache_retention'
  | 'user';

/** The fields of the option `refusedFields`. */
export const REFUSABLE_FIELDS: readonly RefusableField[] = [
  'stream_options',
  'parallel_tool_calls',
  'temperature',
  'top_p',
  'top_k',
  'stop',
  'presence_penalty',
  'frequency_penalty',
  'logprobs',
  'top_logprobs',
  'verbosity',
  'reasoning_effort',
  'metadata',
  'service_tier',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'user',
];

/** How much a model reasons, from the least on. */
export type Effort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';
/** All of them. */
export const EFFORTS: readonly Effort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/** How closely a model looks at an image. */
export type ImageDetail = 'auto' | 'low' | 'high' | 'original';

/** The request settings of one provider; each is an option of the same name. */
export interface ProviderSettings {
  /** The field for reasoning that is sent back, until the model has shown which field it writes. */
  readonly reasoningField: ReasoningField;
  /** Whether reasoning text is sent back; false if the provider refuses it or has none. Sealed reasoning is always sent back. */
  readonly reasoningReplay: boolean;
  /** Whether every message of the assistant must hold reasoning, not only those with calls. */
  readonly reasoningRequired: boolean;
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens';
  readonly developerRole: 'keep' | 'system';
  readonly systemMessages: 'keep' | 'merge';
  readonly toolChoice: ToolChoiceForms;
  /** The fields that it refuses. */
  readonly refusedFields: readonly RefusableField[];
  /** The efforts that it accepts: another one becomes the nearest. */
  readonly efforts: readonly Effort[];
  /** The details of images that it accepts: `original` becomes the highest, others are left out. */
  readonly imageDetails: readonly ImageDetail[];
  /** The ids of calls that it accepts. */
  readonly callIds: CallIdForm;
  /** Maximum characters of a tool's name. */
  readonly maxToolName: number;
  /** Maximum characters of a tool's description. */
  readonly maxToolDescription: number;
  /** Maximum tokens of an answer that a request may ask for, by the name of the model, which may contain `*`; the first name that fits counts. */
  readonly maxOutputTokens: Readonly<Record<string, number>>;
  /** The formats that it answers only in one piece. */
  readonly unstreamedFormats: readonly ('json_object' | 'json_schema')[];
  /** The JSON Schemas of tools that it accepts. */
  readonly toolSchemas: SchemaDialect;
  /** `user` adds a short message of the user's to a conversation that ends with the assistant, `prefix` marks that one. */
  readonly lastMessage: 'any' | 'user' | 'prefix';
  /** `assistant` adds a short message of the assistant's between the results of tools and a message of somebody else. */
  readonly afterToolResults: 'any' | 'assistant';
  /** `omit` leaves out text of white space beside calls. */
  readonly blankText: 'keep' | 'omit';
  /** Whether it fetches files by their URL. */
  readonly fileUrls: boolean;
  /** Whether it reports the cost after the end marker of its stream: the end waits for that, up to a second. */
  readonly costAfterDone: boolean;
}

/** The settings of one request: those of its provider, and what no option sets, but the refusals of a server teach. */
export interface RequestSettings extends ProviderSettings {
  /** Gemini's signature of calls whose own is not known. Default: none. */
  readonly callSignature?: string;
  /** `alternate` writes neighbours of one speaker as one message. Default: as they are. */
  readonly turns?: 'alternate';
}

/**
 * The forms of `tool_choice` that a server obeys: `all` of OpenAI's, with `allowed_tools`; `names` of tools and words;
 * `words` alone, such as `required`; or nothing but `auto`.
 */
export type ToolChoiceForms = 'all' | 'names' | 'words' | 'auto';

/** A known provider. */
export interface Provider extends ProviderSettings {
  /** Host names, including their subdomains; with a leading colon, the port of a self-hosted server. */
  readonly hosts: readonly string[];
  /** The kind of server, by which tokens are counted and facts about models are asked for. */
  readonly serverKind: ServerKind;
}

/** No limit. */
const ANY = Number.POSITIVE_INFINITY;

/** The settings for unknown servers, which every server accepts. */
export const USUAL: Provider = Object.freeze<Provider>({
  hosts: [],
  reasoningField: 'reasoning_content',
  reasoningReplay: true,
  reasoningRequired: false,
  maxTokensField: 'max_tokens',
  developerRole: 'system',
  systemMessages: 'keep',
  toolChoice: 'names',
  serverKind: 'auto',
  refusedFields: [],
  efforts: EFFORTS,
  imageDetails: ['auto', 'low', 'high'],
  callIds: 'any',
  maxToolName: ANY,
  maxToolDescription: ANY,
  maxOutputTokens: {},
  unstreamedFormats: [],
  toolSchemas: 'any',
  lastMessage: 'any',
  afterToolResults: 'any',
  blankText: 'keep',
  fileUrls: false,
  costAfterDone: false,
});

const REASONING = { reasoningField: 'reasoning' } as const;
const COMPLETION_TOKENS = { maxTokensField: 'max_completion_tokens' } as const;
const NO_REPLAY = { reasoningReplay: false } as const;
/** The limits of OpenAI's own API, and of its copy at Azure. */
const OPENAI_LIMITS = {
  refusedFields: ['top_k'],
  callIds: 'short',
  maxToolName: 64,
  maxToolDescription: 1024,
  toolSchemas: 'openai',
} as const satisfies Partial<Provider>;
const NO_CACHE_LIFE = ['prompt_cache_options', 'prompt_cache_retention'] as const;
const NO_CACHE_FIELDS = ['prompt_cache_key', ...NO_CACHE_LIFE] as const;
const OPENAI_ONLY = [...NO_CACHE_FIELDS, 'safety_identifier', 'verbosity'] as const;
const LOW_TO_HIGH = { efforts: ['low', 'medium', 'high'] } as const satisfies Partial<Provider>;

function provider(hosts: readonly string[], more: Partial<Provider> = {}): Provider {
  return Object.freeze<Provider>({ ...USUAL, serverKind: 'none', ...more, hosts: Object.freeze(hosts) });
}

/** The known providers, by the names of the option `provider`. */
export const PROVIDERS = Object.freeze({
  openai: provider(['api.openai.com'], {
    ...COMPLETION_TOKENS,
    ...NO_REPLAY,
    ...OPENAI_LIMITS,
    developerRole: 'keep',
    toolChoice: 'all',
  }),
  azure: provider(['openai.azure.com', 'services.ai.azure.com', 'cognitiveservices.azure.com'], {
    ...COMPLETION_TOKENS,
    ...NO_REPLAY,
    ...OPENAI_LIMITS,
  }),
  vllm: provider([], { serverKind: 'vllm' }),
  sglang: provider([]),
  'llama.cpp': provider([], { serverKind: 'llama.cpp', toolChoice: 'words', toolSchemas: 'llama.cpp' }),
  ollama: provider(['ollama.com', ':11434'], { ...REASONING, serverKind: 'ollama' }),
  'lm-studio': provider([], { toolSchemas: 'llama.cpp' }),
  deepseek: provider(['api.deepseek.com'], {
    reasoningRequired: true,
    maxOutputTokens: { 'deepseek-chat': 8192, 'deepseek-reasoner': 65_536 },
  }),
  mistral: provider(['api.mistral.ai'], {
    reasoningField: 'thinking',
    refusedFields: [
      ...(['stream_options', 'logprobs', 'top_logprobs', 'top_k', 'user'] as const),
      ...NO_CACHE_LIFE,
      ...(['safety_identifier', 'verbosity'] as const),
    ],
    efforts: ['none', 'high'],
    callIds: 'mistral',
    lastMessage: 'user',
    afterToolResults: 'assistant',
  }),
  groq: provider(['api.groq.com'], {
    ...REASONING,
    ...COMPLETION_TOKENS,
    ...LOW_TO_HIGH,
    refusedFields: ['logprobs', 'top_logprobs', 'top_k', ...OPENAI_ONLY],
    unstreamedFormats: ['json_object', 'json_schema'],
  }),
  cerebras: provider(['api.cerebras.ai'], {
    ...REASONING,
    ...COMPLETION_TOKENS,
    ...LOW_TO_HIGH,
    refusedFields: ['presence_penalty', 'frequency_penalty', 'top_k', 'metadata', ...OPENAI_ONLY],
  }),
  xai: provider(['api.x.ai'], { ...COMPLETION_TOKENS, refusedFields: ['presence_penalty', 'frequency_penalty'] }),
  gemini: provider(['generativelanguage.googleapis.com', 'aiplatform.googleapis.com'], {
    ...NO_REPLAY,
    refusedFields: OPENAI_ONLY,
    maxToolName: 64,
    toolSchemas: 'gemini',
  }),
  openrouter: provider(['openrouter.ai'], { ...REASONING, fileUrls: true }),
  opencode: provider(['opencode.ai'], { costAfterDone: true }),
  together: provider(['api.together.xyz', 'api.together.ai'], { ...REASONING, ...LOW_TO_HIGH }),
  fireworks: provider(['api.fireworks.ai'], { refusedFields: NO_CACHE_LIFE }),
  perplexity: provider(['api.perplexity.ai'], NO_REPLAY),
  moonshot: provider(['api.moonshot.ai', 'api.moonshot.cn'], { reasoningRequired: true }),
  zhipu: provider(['open.bigmodel.cn', 'api.z.ai'], { toolChoice: 'auto' }),
  qwen: provider(['dashscope.aliyuncs.com', 'dashscope-intl.aliyuncs.com', 'dashscope-us.aliyuncs.com']),
  minimax: provider(['api.minimax.io', 'api.minimaxi.com'], { reasoningField: 'think_tags' }),
  nvidia: provider(['integrate.api.nvidia.com'], { refusedFields: NO_CACHE_FIELDS }),
  cloudflare: provider(['api.cloudflare.com']),
  snowflake: provider(['snowflakecomputing.com'], { ...COMPLETION_TOKENS, ...NO_REPLAY }),
  databricks: provider(['cloud.databricks.com', 'azuredatabricks.net', 'gcp.databricks.com'], {
    reasoningField: 'reasoning_parts',
    refusedFields: ['stream_options', ...OPENAI_ONLY],
    blankText: 'omit',
  }),
  'github-copilot': provider(['githubcopilot.com'], { reasoningField: 'reasoning_text' }),
} satisfies Readonly<Record<string, Provider>>);

/** The name of a known provider. */
export type ProviderName = keyof typeof PROVIDERS;

/** A provider, or `auto`: by the address of the server. */
export type ProviderOption = ProviderName | 'auto';

/** Returns the provider of this name, or with `auto` the one that owns the address. */
export function findProvider(name: ProviderOption, baseURL: URL): Provider {
  if (name !== 'auto') return PROVIDERS[name];
  const { hostname, port } = baseURL;
  const isAt = (host: string) =>
    host.startsWith(':') ? host === `:${port}` : hostname === host || hostname.endsWith(`.${host}`);
  return Object.values<Provider>(PROVIDERS).find(({ hosts }) => hosts.some(isAt)) ?? USUAL;
}
