/** An app whose routers have a budget, over a fake model server, and short ways to ask what was counted. */

import express, { type Express } from 'express';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  memoryStore,
  messagesRouter,
  type RouterOptions,
  responsesRouter,
} from '../../../src/index.ts';
import {
  type TokenBudget,
  type TokenBudgetOptions,
  tokenBudget,
  type UsageRow,
} from '../../../src/policies/budgets/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { type FakeUpstream, startFakeUpstream } from '../../../src/testing/index.ts';
import { listening } from '../../support/listening.ts';

/** A running app and its model server. */
export interface BudgetApp {
  /** With the mount path of the routers. */
  readonly url: string;
  readonly fake: FakeUpstream;
  readonly budget: TokenBudget;
  /** Posts to a path below the mount, as this tenant. */
  post(
    path: string,
    body: JsonObject,
    extra?: { readonly tenant?: string; readonly signal?: AbortSignal },
  ): Promise<Response>;
  /** What was counted of the tenant: requests, input and output tokens; waits until so many requests are. */
  counted(requests?: number, tenant?: string): Promise<readonly (readonly number[])[]>;
  close(): Promise<void>;
}

/** What a test may change: the budget's options, the routers', and what stands in front of them. */
export interface BudgetAppSetup {
  readonly budget?: TokenBudgetOptions;
  readonly routers?: RouterOptions;
  readonly before?: (app: Express, budget: TokenBudget) => void;
}

/** The tenant of a request: the name in its key. */
export function tenantIn(req: { readonly headers: Readonly<Record<string, unknown>> }): string {
  return String(req.headers.authorization ?? 'Bearer a').slice('Bearer '.length);
}

/** Starts both on free ports. */
export async function startBudgetApp({ budget: options, routers, before }: BudgetAppSetup = {}): Promise<BudgetApp> {
  const fake = await startFakeUpstream();
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'key', retries: 0 });
  const budget = tokenBudget({ scope: tenantIn, ...options });
  const own = { upstream, store: memoryStore(), scope: tenantIn, hooks: { onError: () => {} }, budget, ...routers };
  const app = express();
  before?.(app, budget);
  app.use('/v1', responsesRouter(own), chatCompletionsRouter(own), messagesRouter(own));
  const { url, close } = await listening(app);
  return {
    url: `${url}/v1`,
    fake,
    budget,
    post: (path, body, { tenant = 'a', signal } = {}) =>
      fetch(`${url}${path.startsWith('//') ? path.slice(1) : `/v1${path}`}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${tenant}` },
        body: JSON.stringify({ model: 'm', ...body }),
        ...(signal ? { signal } : {}),
      }),
    counted: (requests = 1, tenant = 'a') => countedBy(budget, requests, tenant),
    close: async () => void (await Promise.all([close(), upstream.close?.(), fake.close()])),
  };
}

async function countedBy(budget: TokenBudget, requests: number, tenant: string) {
  for (let tries = 0; tries < 500; tries += 1) {
    const rows = await budget.report({ scope: tenant });
    if (sum(rows) >= requests) return rows.map((row) => [row.requests, row.inputTokens, row.outputTokens]);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`There are never ${requests} requests.`);
}

function sum(rows: readonly UsageRow[]): number {
  return rows.reduce((total, row) => total + row.requests, 0);
}

/** The headers about what is left. */
export function rateHeaders({ headers }: Response): JsonObject {
  return Object.fromEntries([...headers].filter(([name]) => name.startsWith('x-ratelimit-')));
}
