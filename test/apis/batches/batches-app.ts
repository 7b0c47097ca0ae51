/** A real Express app with the batch APIs, the Files API and the APIs that answer lines, over a fake model server. */
import express, { type RequestHandler } from 'express';
import OpenAI, { toFile } from 'openai';
import { type BatchesRouterOptions, batchesRouter } from '../../../src/batches.ts';
import { type FileStore, filesRouter, memoryFiles } from '../../../src/files.ts';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  memoryStore,
  messagesRouter,
  type RouterOptions,
  responsesRouter,
} from '../../../src/index.ts';
import type { ResponseStore } from '../../../src/ports/store.ts';
import { type FakeUpstream, startFakeUpstream } from '../../../src/testing/index.ts';
import { listening } from '../../support/listening.ts';
import { PATIENCE_MS } from '../../support/patience.ts';

/** A running app. */
export interface BatchesApp {
  /** Origin and mount path. */
  readonly url: string;
  readonly model: FakeUpstream;
  readonly files: FileStore;
  readonly store: ResponseStore;
  /** OpenAI's client, of the tenant with this key. */
  client(apiKey?: string): OpenAI;
  /** The turns that run and wait. */
  turns(): Promise<{ readonly inFlight: number; readonly waiting: number }>;
  /** What the routers have reported. */
  readonly errors: readonly string[];
  close(): Promise<void>;
}

/** How the app differs from the usual one. */
export interface BatchesSetup {
  readonly batches?: Partial<BatchesRouterOptions>;
  readonly router?: RouterOptions;
  readonly files?: FileStore;
  readonly store?: ResponseStore;
  readonly model?: FakeUpstream;
  /** What stands in front of all APIs. */
  readonly inFront?: RequestHandler;
}

/** Starts it. */
export async function startBatchesApp(setup: BatchesSetup = {}): Promise<BatchesApp> {
  const model = setup.model ?? (await startFakeUpstream());
  const { files = memoryFiles(), store = memoryStore() } = setup;
  const errors: string[] = [];
  const onError = ({ message, cause }: Error) => void errors.push(`${message} ${cause ?? ''}`);
  const upstream = chatCompletionsUpstream({ baseURL: model.baseURL, apiKey: 'upstream-key', retries: 0 });
  const options: RouterOptions = { upstream, store, files, logger: false, ...setup.router };
  const responses = responsesRouter(options);
  const apis = [responses, chatCompletionsRouter(options), messagesRouter(options)];
  const own = { files, apis, store, logger: false, hooks: { onError }, ...setup.batches } as const;
  const quota = { retryMs: 1, ...setup.batches?.quota };
  const batches = batchesRouter({ ...own, quota });
  const app = express();
  if (setup.inFront) app.use(setup.inFront);
  app.use('/v1', filesRouter({ files, logger: false }), batches, ...apis);
  const server = await listening(app);
  const url = `${server.url}/v1`;
  return {
    url,
    model,
    files,
    store,
    errors,
    turns: async () => (await responses.status()).responses,
    client: (apiKey = 'alice') => new OpenAI({ baseURL: url, apiKey, maxRetries: 0 }),
    async close() {
      await batches.drain();
      await server.close();
      await upstream.close?.();
      if (!setup.model) await model.close();
    },
  };
}

/** One line of an input. */
export function line(id: string, body: object = {}, url = '/v1/responses'): string {
  return JSON.stringify({ custom_id: id, method: 'POST', url, body: { model: 'fake-model', input: id, ...body } });
}

/** Uploads the lines. */
export async function upload(client: OpenAI, lines: readonly string[]): Promise<string> {
  const file = await toFile(Buffer.from(lines.join('\n')), 'input.jsonl');
  return (await client.files.create({ file, purpose: 'batch' })).id;
}

/** Creates a batch of the lines. */
export async function create(
  client: OpenAI,
  lines: readonly string[],
  endpoint: OpenAI.BatchCreateParams['endpoint'] = '/v1/responses',
): Promise<OpenAI.Batch> {
  const input_file_id = await upload(client, lines);
  return client.batches.create({ input_file_id, endpoint, completion_window: '24h' });
}

const OVER: ReadonlySet<string> = new Set(['completed', 'failed', 'expired', 'cancelled']);

/** The batch once it has ended. */
export function ended(client: OpenAI, { id }: Pick<OpenAI.Batch, 'id'>): Promise<OpenAI.Batch> {
  return until(client, id, ({ status }) => OVER.has(status));
}

/** The batch once this holds. */
export async function until(client: OpenAI, id: string, isSo: (batch: OpenAI.Batch) => boolean): Promise<OpenAI.Batch> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const batch = await client.batches.retrieve(id);
    if (isSo(batch)) return batch;
    if (performance.now() > deadline) throw new Error(`It never came to be: ${JSON.stringify(batch)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A line of results. */
export interface ResultLine {
  readonly id: string;
  readonly custom_id: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect
  readonly response: any;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly error: any;
}

/** The lines of the file, in the order of their ids; none for no file. */
export async function results(client: OpenAI, fileId: string | null | undefined): Promise<readonly ResultLine[]> {
  if (!fileId) return [];
  const text = await (await client.files.content(fileId)).text();
  const lines = text.split('\n').filter((each) => each !== '');
  const parsed = lines.map((each) => JSON.parse(each) as ResultLine);
  return parsed.toSorted((one, other) => (one.custom_id < other.custom_id ? -1 : 1));
}
