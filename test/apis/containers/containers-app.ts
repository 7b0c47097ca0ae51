/** A real Express app with containers, files and responses on a free port, whose code is JavaScript. */
import express, { type Request } from 'express';
import OpenAI, { toFile } from 'openai';
import { type ContainersRouterOptions, containersRouter } from '../../../src/containers.ts';
import { filesRouter, memoryFiles } from '../../../src/files.ts';
import { chatCompletionsUpstream, memoryStore, responsesRouter } from '../../../src/index.ts';
import type { CodeRuntime } from '../../../src/ports/hosted-tools/code-runtime.ts';
import { startFakeUpstream } from '../../../src/testing/index.ts';
import { codeInterpreter } from '../../../src/tools/code-interpreter/index.ts';
import { listening } from '../../support/listening.ts';
import { javascriptRuntime } from '../../tools/code-interpreter/interpreter.ts';

export type ContainersApp = Awaited<ReturnType<typeof startContainersApp>>;

type Options = Partial<ContainersRouterOptions<Request>> & { readonly runtime?: CodeRuntime };

/** Starts it. The code interpreter is made after the router, which has the options of the containers. */
export async function startContainersApp(options: Options = {}) {
  const fake = await startFakeUpstream();
  const files = memoryFiles();
  const { runtime = javascriptRuntime(), ...others } = options;
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'k', retries: 0 });
  const router = containersRouter({ files, logger: false, ...(others.containers ? {} : { runtime }), ...others });
  const app = express().use(
    '/v1',
    filesRouter({ files, logger: false }),
    router,
    responsesRouter({ upstream, store: memoryStore(), files, tools: codeInterpreter({ runtime }), logger: false }),
  );
  const host = await listening(app);
  const url = `${host.url}/v1`;
  return {
    ...{ url, fake, files, runtime, router },
    client: clientOf(url, 'alice'),
    other: clientOf(url, 'bob'),
    async close() {
      await router.close();
      await host.close();
      await fake.close();
    },
  };
}

function clientOf(baseURL: string, apiKey: string): OpenAI {
  return new OpenAI({ baseURL, apiKey, maxRetries: 0 });
}

/** A file to upload. */
export function textFile(text: string, name = 'data.csv') {
  return toFile(Buffer.from(text), name);
}

/** A status and a body of a request without an SDK. */
export async function ask(
  url: string,
  {
    method = 'POST',
    body,
    headers = {},
  }: { method?: string; body?: string | FormData; headers?: Record<string, string> } = {},
) {
  const response = await fetch(url, {
    method,
    headers: { authorization: 'Bearer alice', ...headers },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  return { status: response.status, json: text.startsWith('{') ? JSON.parse(text) : text };
}

/** A request with JSON. */
export function askJson(url: string, body: unknown) {
  return ask(url, { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });
}
