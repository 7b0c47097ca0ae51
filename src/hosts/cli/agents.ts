/** The coding agents that the program can start, and the settings by which each uses this server: as docs/clients.md has them. */
import type { ModelFacts } from '../../protocol/model-facts.ts';

/** What the settings of an agent are made of. */
interface AgentPlace {
  /** The folder for its settings; absolute. */
  readonly folder: string;
  /** The server's origin. */
  readonly origin: string;
  readonly model: string;
  readonly facts: ModelFacts;
}

/** How an agent is started. */
interface AgentSettings {
  /** Before its own. */
  readonly args: readonly string[];
  /** Beside those of this process; undefined takes a variable away. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The files of its folder, by name. */
  readonly files: Readonly<Record<string, string>>;
}

/** What an agent tells from how it is started whether a person is at work with it. */
interface AgentStart {
  /** Those of its command line. */
  readonly args: readonly string[];
  /** Whether what it prints goes to a terminal. */
  readonly isTerminal: boolean;
}

/** An agent. */
export interface Agent {
  /** For people. */
  readonly title: string;
  /** The program on PATH. */
  readonly program: string;
  /** How it is installed. */
  readonly install: string;
  /**
   * How the lines on its error stream begin that are for the program that has started it: this one, which knows what they say. Undefined
   * where a person sees the stream on the agent's own screen. Default: it writes none.
   */
  readonly hostLine?: (start: AgentStart) => string | undefined;
  settings(place: AgentPlace): AgentSettings;
}

/** The key of all agents: the server asks for none, and one key is one tenant, who finds its responses in a store again. */
const KEY = 'local';
/** For agents that need one, where the server does not say it: a guess that most models of today keep. */
const SOME_CONTEXT = 100_000;
const SOME_OUTPUT = 4_000;

const codex: Agent = {
  title: 'Codex',
  program: 'codex',
  install: 'npm install -g @openai/codex',
  settings({ folder, origin, model }) {
    // A string of JSON is one of TOML, too.
    const lines = [
      `model = ${JSON.stringify(model)}`,
      'model_provider = "local"',
      '',
      '[model_providers.local]',
      'name = "express-open-responses"',
      `base_url = "${origin}/v1"`,
      `model_catalog_url = "${origin}/v1/models"`,
      'wire_api = "responses"',
      'env_key = "OPEN_RESPONSES_KEY"',
      '',
    ];
    return {
      args: [],
      env: { CODEX_HOME: folder, OPEN_RESPONSES_KEY: KEY },
      files: { 'config.toml': lines.join('\n') },
    };
  },
};

const claude: Agent = {
  title: 'Claude Code',
  program: 'claude',
  install: 'npm install -g @anthropic-ai/claude-code',
  // Its settings could map the model to one that it knows (`modelPicker`, `behavesAs`); but then it assumes that model's context of 200,000 or
  // 1,000,000 tokens, whatever CLAUDE_CODE_MAX_CONTEXT_TOKENS says.
  hostLine: ({ args, isTerminal }) =>
    isTerminal && !args.some((arg) => arg === '--print' || /^-[a-z]*p$/.test(arg))
      ? undefined
      : '[claude-code:unrecognized_model]',
  settings({ folder, origin, model, facts: { contextLength = SOME_CONTEXT } }) {
    const env = {
      CLAUDE_CONFIG_DIR: folder,
      ANTHROPIC_BASE_URL: origin,
      // Not as a key, for which it would first ask whether it may be used; a key of the user's must not go along.
      ANTHROPIC_AUTH_TOKEN: KEY,
      ANTHROPIC_API_KEY: undefined,
      ANTHROPIC_MODEL: model,
      // What it does in the background: the server knows no model of Anthropic's.
      ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
      ANTHROPIC_DEFAULT_SONNET_MODEL: model,
      ANTHROPIC_DEFAULT_OPUS_MODEL: model,
      ANTHROPIC_SMALL_FAST_MODEL: undefined,
      CLAUDE_CODE_USE_BEDROCK: undefined,
      CLAUDE_CODE_USE_VERTEX: undefined,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      // It warns, and assumes 1,000,000, for a model that it does not know.
      CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(contextLength),
    };
    return { args: [], env, files: { '.claude.json': JSON.stringify({ hasCompletedOnboarding: true }) } };
  },
};

const opencode: Agent = {
  title: 'opencode',
  program: 'opencode',
  install: 'npm install -g opencode-ai',
  settings({ folder, origin, model, facts }) {
    const { contextLength: context = SOME_CONTEXT, maxOutputTokens = SOME_OUTPUT } = facts;
    const limit = { context, output: Math.min(maxOutputTokens, Math.ceil(context / 2)) };
    const config = {
      model: `openai/${model}`,
      small_model: `openai/${model}`,
      autoupdate: false,
      provider: {
        openai: {
          options: { baseURL: `${origin}/v1`, apiKey: KEY },
          models: { [model]: { name: model, tool_call: true, limit } },
        },
      },
    };
    const file = 'opencode.json';
    const text = JSON.stringify(config, null, 2);
    const env = {
      OPENCODE_CONFIG: `${folder}/${file}`,
      // The same again, since the `opencode.json` of a project goes before that file, and may name a model of another server.
      OPENCODE_CONFIG_CONTENT: text,
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
    };
    return { args: [], env, files: { [file]: text } };
  },
};

const pi: Agent = {
  title: 'pi',
  program: 'pi',
  install: 'npm install -g @mariozechner/pi-coding-agent',
  settings({ folder, origin, model, facts: { contextLength, maxOutputTokens } }) {
    const entry = { id: model, contextWindow: contextLength, maxTokens: maxOutputTokens };
    const local = { baseUrl: `${origin}/v1`, api: 'openai-responses', apiKey: KEY, models: [entry] };
    return {
      args: ['--provider', 'local', '--model', model],
      env: { PI_CODING_AGENT_DIR: folder },
      files: { 'models.json': JSON.stringify({ providers: { local } }, null, 2) },
    };
  },
};

/** By the names under which they are asked for. */
export const AGENTS: ReadonlyMap<string, Agent> = new Map(Object.entries({ codex, claude, opencode, pi }));
