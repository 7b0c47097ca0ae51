/** The request settings of known providers of the Chat Completions API; docs/providers.md lists the sources. */
import type { ReasoningField } from '../../protocol/chat-completions/answer-state.ts';

/** The request settings of one provider. */
export interface Provider {
  /** Host names, including their subdomains; with a leading colon, the port of a self-hosted server. */
  readonly hosts: readonly string[];
  /** The field for reasoning that is sent back, until the model has shown which field it writes. */
  readonly reasoningField: ReasoningField;
  /** Whether reasoning text is sent back; false if the provider refuses it or has none. Sealed reasoning is always sent back. */
  readonly reasoningReplay: boolean;
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens';
  readonly developerRole: 'keep' | 'system';
  readonly systemMessages: 'keep' | 'merge';
  readonly toolChoice: ToolChoiceForms;
  /** How the server counts tokens: by its kind, which `auto` finds out by the list of its models; `none` if it does not. */
  readonly tokenCount: TokenCountWay;
}

/**
 * The forms of `tool_choice` that a server obeys: `all` of OpenAI's, with `allowed_tools`; `names` of tools and words;
 * or `words` alone, such as `required`.
 */
export type ToolChoiceForms = 'all' | 'names' | 'words';

/** A kind of server that counts tokens, or how it is found. */
export type TokenCountWay = 'vllm' | 'llama.cpp' | 'auto' | 'none';

/** The settings for unknown servers, which every server accepts. */
const USUAL: Provider = {
  hosts: [],
  reasoningField: 'reasoning_content',
  reasoningReplay: true,
  maxTokensField: 'max_tokens',
  developerRole: 'system',
  systemMessages: 'keep',
  toolChoice: 'names',
  tokenCount: 'auto',
};
const REASONING = { reasoningField: 'reasoning' } as const;
const COMPLETION_TOKENS = { maxTokensField: 'max_completion_tokens' } as const;
const NO_REPLAY = { reasoningReplay: false } as const;

function provider(hosts: readonly string[], more: Partial<Provider> = {}): Provider {
  return Object.freeze({ ...USUAL, tokenCount: 'none', ...more, hosts: Object.freeze(hosts) });
}

/** The known providers, by the names of the option `provider`. */
export const PROVIDERS = Object.freeze({
  openai: provider(['api.openai.com'], {
    ...COMPLETION_TOKENS,
    ...NO_REPLAY,
    developerRole: 'keep',
    toolChoice: 'all',
  }),
  azure: provider(['openai.azure.com', 'services.ai.azure.com', 'cognitiveservices.azure.com'], {
    ...COMPLETION_TOKENS,
    ...NO_REPLAY,
  }),
  vllm: provider([], { tokenCount: 'vllm' }),
  sglang: provider([]),
  'llama.cpp': provider([], { tokenCount: 'llama.cpp', toolChoice: 'words' }),
  ollama: provider(['ollama.com', ':11434'], REASONING),
  'lm-studio': provider([]),
  deepseek: provider(['api.deepseek.com']),
  mistral: provider(['api.mistral.ai'], { reasoningField: 'thinking' }),
  groq: provider(['api.groq.com'], { ...REASONING, ...COMPLETION_TOKENS }),
  cerebras: provider(['api.cerebras.ai'], { ...REASONING, ...COMPLETION_TOKENS }),
  xai: provider(['api.x.ai'], COMPLETION_TOKENS),
  gemini: provider(['generativelanguage.googleapis.com', 'aiplatform.googleapis.com'], NO_REPLAY),
  openrouter: provider(['openrouter.ai'], REASONING),
  together: provider(['api.together.xyz', 'api.together.ai'], REASONING),
  fireworks: provider(['api.fireworks.ai']),
  perplexity: provider(['api.perplexity.ai'], NO_REPLAY),
  moonshot: provider(['api.moonshot.ai', 'api.moonshot.cn']),
  zhipu: provider(['open.bigmodel.cn', 'api.z.ai']),
  qwen: provider(['dashscope.aliyuncs.com', 'dashscope-intl.aliyuncs.com', 'dashscope-us.aliyuncs.com']),
  minimax: provider(['api.minimax.io', 'api.minimaxi.com'], { reasoningField: 'think_tags' }),
  cloudflare: provider(['api.cloudflare.com']),
  snowflake: provider(['snowflakecomputing.com'], { ...COMPLETION_TOKENS, ...NO_REPLAY }),
  databricks: provider(['cloud.databricks.com', 'azuredatabricks.net', 'gcp.databricks.com'], NO_REPLAY),
  'github-copilot': provider(['githubcopilot.com'], { reasoningField: 'reasoning_text' }),
} satisfies Readonly<Record<string, Provider>>);

/** A known provider. */
export type ProviderName = keyof typeof PROVIDERS;

/** Whether there is a provider of this name. */
export function isProviderName(name: unknown): name is ProviderName {
  return typeof name === 'string' && Object.hasOwn(PROVIDERS, name);
}

/** Returns the provider of this name, or with `auto` the one that owns the address. */
export function providerOf(name: ProviderName | 'auto', baseURL: URL): Provider {
  if (name !== 'auto') return PROVIDERS[name];
  return Object.values<Provider>(PROVIDERS).find(({ hosts }) => hosts.some((host) => isAt(host, baseURL))) ?? USUAL;
}

function isAt(host: string, { hostname, port }: URL): boolean {
  if (host.startsWith(':')) return host === `:${port}`;
  return hostname === host || hostname.endsWith(`.${host}`);
}
