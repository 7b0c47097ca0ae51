/** Opens the model server of the command line, and lists its models. */
import { DEFAULT_LIMITS } from '../../ports/limits.ts';
import type { Upstream } from '../../ports/upstream.ts';
import { ApiError } from '../../protocol/errors.ts';
import { type ModelFacts, modelFacts } from '../../protocol/model-facts.ts';
import { startDemoModel } from '../../testing/demo-model/demo-model.ts';
import {
  type ChatCompletionsUpstream,
  chatCompletionsUpstream,
} from '../../upstreams/chat-completions/chat-completions-upstream.ts';
import type { Arguments } from './arguments.ts';
import { Failure, printableMessage, usageFailure } from './failure.ts';

/** A model server, and the models that it listed. */
interface OpenModel {
  readonly upstream: Upstream;
  /** For the terminal. */
  readonly name: string;
  /** Empty if the server did not list them. */
  readonly models: readonly ListedModel[];
  close(): Promise<void>;
}

/** A model of the server's list. */
export interface ListedModel {
  /** For the terminal. */
  readonly id: string;
  readonly facts: ModelFacts;
}

/** How long the server has to list its models, in milliseconds. */
const PATIENCE_MS = 5000;

/** Starts the demo model where no server is named. A server that does not answer is a warning: it may still be loading. */
export async function openModel(
  { upstream: baseURL, apiKey }: Pick<Arguments, 'upstream' | 'apiKey'>,
  warn: (line: string) => void,
): Promise<OpenModel> {
  if (baseURL === undefined) {
    const demo = await startDemoModel();
    const upstream = chatCompletionsUpstream({ baseURL: demo.baseURL });
    const name = 'the demo model, which repeats its input (use --upstream URL for your model server)';
    const close = async () => void (await Promise.all([upstream.close?.(), demo.close()]));
    return { upstream, name, models: await listModels(upstream), close };
  }
  let upstream: ChatCompletionsUpstream;
  try {
    upstream = chatCompletionsUpstream({ baseURL, apiKey });
  } catch (error) {
    const words = printableMessage(error).replace('chatCompletionsUpstream: ', '').replace('baseURL', '--upstream');
    throw usageFailure(
      words.replace('apiKey or headers', '--key-env').replace('apiKey', 'the key of --key-env'),
      error,
    );
  }
  const name = upstream.origin ?? baseURL;
  const models = await listModels(upstream).catch((error) => {
    const hasAnswered = error instanceof ApiError && ['not_found', 'upstream_error'].includes(error.code);
    const hint = hasAnswered && new URL(baseURL).pathname === '/' ? " Does --upstream lack '/v1' at its end?" : '';
    warn(`${name} did not list its models: ${printableMessage(error)}${hint} Requests are sent to it all the same.`);
    return [];
  });
  return { upstream, name, models, close: async () => upstream.close?.() };
}

async function listModels(upstream: Upstream, patienceMs = PATIENCE_MS): Promise<readonly ListedModel[]> {
  const limits = { ...DEFAULT_LIMITS, firstByteTimeoutMs: patienceMs, idleTimeoutMs: patienceMs };
  const signal = AbortSignal.timeout(patienceMs);
  const listed = await upstream.models?.({ signal, headers: new Headers(), limits, note() {}, retries: 0 });
  return (listed ?? []).map((entry) => ({ id: String(entry.id), facts: modelFacts(entry) }));
}

/** Where model servers listen if nobody has told them otherwise. */
const USUAL_SERVERS: readonly UsualServer[] = [
  { name: 'llama.cpp', port: 8080 },
  { name: 'Ollama', port: 11_434 },
  { name: 'vLLM', port: 8000 },
  { name: 'LM Studio', port: 1234 },
];

/** A model server, and its port on this machine. */
interface UsualServer {
  readonly name: string;
  readonly port: number;
}

/** How long a server of this machine has to list its models, in milliseconds. */
const NEARBY_PATIENCE_MS = 1500;

/** The address of the first that lists a model; all are asked at once. Throws a `Failure` that says who was asked. */
export async function findModelServer(servers: readonly UsualServer[] = USUAL_SERVERS): Promise<string> {
  const found = await Promise.all(
    servers.map(async ({ port }) => {
      const baseURL = `http://127.0.0.1:${port}/v1`;
      const upstream = chatCompletionsUpstream({ baseURL });
      const models = await listModels(upstream, NEARBY_PATIENCE_MS).catch(() => []);
      await upstream.close();
      return models.length > 0 ? baseURL : undefined;
    }),
  );
  const first = found.find((baseURL) => baseURL !== undefined);
  if (first !== undefined) return first;
  const places = servers.map(({ name, port }) => `${name} (port ${port})`).join(', ');
  throw new Failure(
    `no model server was found on this machine: none of ${places} lists a model. Start one, or name yours with --upstream URL`,
    1,
  );
}
