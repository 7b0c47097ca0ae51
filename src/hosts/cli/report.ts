/** What the program prints when it is ready. */
import { isPrintable, toPrintable } from '../../protocol/printable.ts';
import { quoteForShell } from '../../protocol/shell-text.ts';
import { VERSION } from '../../protocol/version.ts';

/** What was found at the start. */
interface Facts {
  /** Such as `http://127.0.0.1:3000`. */
  readonly origin: string;
  readonly modelServer: string;
  readonly models: readonly string[];
  readonly store: string;
  /** The MCP servers and their tools; undefined for none. */
  readonly tools: string | undefined;
  readonly inspect: boolean;
}

const MAX_MODELS = 5;
/** For the lines to copy, if the server named no model. */
const SOME_MODEL = 'my-model';

/** Facts first, then lines to copy: a request, and the settings of clients. */
export function readyLines({ origin, modelServer, models, store, tools, inspect }: Facts): readonly string[] {
  const baseURL = `${origin}/v1`;
  // Whole, since it is to be copied: llama.cpp calls a model by the path of its file.
  const model = models.find(isPrintable) ?? SOME_MODEL;
  const unlisted = models.length - MAX_MODELS;
  const modelList = models.slice(0, MAX_MODELS).map(toPrintable).join(', ') || 'not known';
  const provider = `model_providers.local={name="local",base_url="${baseURL}",model_catalog_url="${baseURL}/models",experimental_bearer_token="unused",wire_api="responses"}`;
  return [
    `express-open-responses ${VERSION}`,
    `  model server  ${modelServer}`,
    `  models        ${modelList}${unlisted > 0 ? ` and ${unlisted} more` : ''}`,
    `  store         ${store}`,
    ...(tools === undefined ? [] : [`  MCP servers   ${tools}`]),
    `  API           ${baseURL}`,
    ...(inspect ? [`  inspector     ${origin}/inspect/`] : []),
    '',
    'A request:',
    `  curl ${baseURL}/responses -H 'content-type: application/json' -d ${quoteForShell(JSON.stringify({ model, input: 'Say hello.' }))}`,
    "OpenAI's SDKs:",
    `  export OPENAI_BASE_URL=${baseURL} OPENAI_API_KEY=unused`,
    'Codex:',
    `  codex -c model_provider=local -c ${quoteForShell(provider)} -m ${quoteForShell(model)}`,
  ];
}
