/** What to print when the example runs: the models that were found, and lines to copy for a request and for clients. */
import type { Example } from './start.ts';

/** How long the model server has to list its models, in milliseconds. */
const LISTING_MS = 5000;
const MOST_MODELS = 5;
/** For the lines to copy, where no model was found. */
const SOME_MODEL = 'my-model';
/** Ids that a terminal and a shell take as they are. The model server chose them, so others are left out. */
const PLAIN_ID = /^\w[\w.:/@+-]{0,99}$/;

/** Asks the model server for its models. One that does not answer is no error: it may still be loading a model. */
export async function usageLines({ url, modelServer, needsKey }: Omit<Example, 'close'>): Promise<readonly string[]> {
  const models = await modelsOf(modelServer).catch(() => []);
  const model = models[0] ?? SOME_MODEL;
  const key = needsKey ? 'KEY' : 'unused';
  return [
    `Models: ${summaryOf(models)}`,
    ...(needsKey ? ['In the lines below, KEY is one of API_KEYS.'] : []),
    `Try it: ${requestTo(url, model, needsKey ? key : undefined)}`,
    `OpenAI's SDKs: export OPENAI_BASE_URL=${url}/v1 OPENAI_API_KEY=${key}`,
    `Codex: OPENAI_API_KEY=${key} codex -c model_provider=local -c '${providerOf(url)}' -m ${model}`,
  ];
}

async function modelsOf({ baseURL, apiKey }: Example['modelServer']): Promise<readonly string[]> {
  const headers = new Headers(apiKey ? { authorization: `Bearer ${apiKey}` } : undefined);
  const answer = await fetch(`${baseURL}/models`, { headers, signal: AbortSignal.timeout(LISTING_MS) });
  const { data } = (await answer.json()) as { readonly data: readonly { readonly id: string }[] };
  return data.map(({ id }) => id).filter((id) => PLAIN_ID.test(id));
}

function summaryOf(models: readonly string[]): string {
  const more = models.length - MOST_MODELS;
  return `${models.slice(0, MOST_MODELS).join(', ') || 'not known'}${more > 0 ? ` and ${more} more` : ''}`;
}

function requestTo(url: string, model: string, key: string | undefined): string {
  const headers = ['content-type: application/json', ...(key ? [`authorization: Bearer ${key}`] : [])];
  const body = JSON.stringify({ model, input: 'Say hello.' });
  return `curl ${url}/v1/responses ${headers.map((header) => `-H '${header}'`).join(' ')} -d '${body}'`;
}

/** A provider of Codex that takes its key from the variable. */
function providerOf(url: string): string {
  return `model_providers.local={name="local",base_url="${url}/v1",model_catalog_url="${url}/v1/models",wire_api="responses",env_key="OPENAI_API_KEY"}`;
}
