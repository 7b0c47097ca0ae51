/** Opens the model server of the command line, and lists its models. */
import { DEFAULT_LIMITS } from '../../ports/limits.ts';
import type { Upstream } from '../../ports/upstream.ts';
import { toPrintable } from '../../protocol/printable.ts';
import { startDemoModel } from '../../testing/demo-model/demo-model.ts';
import {
  type ChatCompletionsUpstream,
  chatCompletionsUpstream,
} from '../../upstreams/chat-completions/chat-completions-upstream.ts';
import type { Arguments } from './arguments.ts';
import { printableMessage, usageFailure } from './failure.ts';

/** A model server, and the models that it listed. */
interface OpenModel {
  readonly upstream: Upstream;
  /** For the terminal. */
  readonly name: string;
  /** The ids of the models; empty if the server did not list them. */
  readonly models: readonly string[];
  close(): Promise<void>;
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
    warn(`${name} did not list its models: ${printableMessage(error)} Requests are sent to it all the same.`);
    return [];
  });
  return { upstream, name, models, close: async () => upstream.close?.() };
}

async function listModels(upstream: Upstream): Promise<readonly string[]> {
  const limits = { ...DEFAULT_LIMITS, firstByteTimeoutMs: PATIENCE_MS, idleTimeoutMs: PATIENCE_MS };
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const listed = await upstream.models?.({ signal, headers: new Headers(), limits, note() {}, retries: 0 });
  return (listed ?? []).map(({ id }) => toPrintable(String(id)));
}
