/** A real Express app whose router is inspected, over a fake model server. */

import { createServer } from 'node:http';
import express from 'express';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  memoryStore,
  messagesRouter,
  type RouterOptions,
  responsesRouter,
} from '../../../src/index.ts';
import { createInspector, type Inspector, type InspectorOptions } from '../../../src/observe/inspector/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { type FakeUpstream, startFakeUpstream } from '../../../src/testing/index.ts';
import { listening } from '../../support/listening.ts';

/** One line of the list, as far as the tests read it. */
export interface Row extends JsonObject {
  readonly number: number;
  readonly status: string;
  readonly tenant: string;
}

/** A running app. */
export interface InspectedApp {
  readonly origin: string;
  readonly inspector: Inspector;
  readonly fake: FakeUpstream;
  /** Posts to the API; resolves when the whole answer is there. */
  post(body: JsonObject, headers?: Readonly<Record<string, string>>, path?: string): Promise<string>;
  /** What the inspector says at a path below `/inspect/api/`. */
  seen(path: string): Promise<JsonObject>;
  /** The lines of the list, newest first. */
  rows(query?: string): Promise<readonly Row[]>;
  close(): Promise<void>;
}

/** Starts one on a free port; the page is at `/inspect`, the API at `/v1`. */
export async function startInspected(
  inspectorOptions: InspectorOptions = {},
  options: RouterOptions = {},
): Promise<InspectedApp> {
  const fake = await startFakeUpstream();
  const inspector = createInspector(inspectorOptions);
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'upstream-key', retries: 0 });
  const all = inspector.observe({ upstream, store: memoryStore(), logger: false as const, ...options });
  const routers = [responsesRouter(all), chatCompletionsRouter(all), messagesRouter(all)];
  const app = express()
    .use('/v1', ...routers)
    .use('/inspect', inspector.router);
  const { url: origin, close } = await listening(createServer(app));

  async function post(body: JsonObject, headers = {}, path = 'responses'): Promise<string> {
    const response = await fetch(`${origin}/v1/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    return response.text();
  }

  async function seen(path: string): Promise<JsonObject> {
    const response = await fetch(`${origin}/inspect/api/${path}`);
    return (await response.json()) as JsonObject;
  }

  return {
    origin,
    inspector,
    fake,
    post,
    seen,
    rows: async (query = '') => (await seen(`responses?${query}`)).rows as readonly Row[],
    async close() {
      inspector.close();
      await Promise.all([close(), fake.close(), upstream.close?.()]);
    },
  };
}
