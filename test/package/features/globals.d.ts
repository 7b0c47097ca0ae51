/** What the parts of apps that the documentation shows have around them. */
import type { Express } from 'express';
import type { BackgroundEngine, Upstream } from 'express-open-responses';
import type { FileStore } from 'express-open-responses/files';
import type { McpTools } from 'express-open-responses/mcp';
import type { SqliteDatabase } from 'express-open-responses/stores/sqlite';
import type { FakeReply, UpstreamScenario } from 'express-open-responses/testing';
import type OpenAI from 'openai';

declare global {
  const app: Express;
  const mcp: McpTools;
  const tools: McpTools;
  const database: SqliteDatabase;
  const files: FileStore;
  const embeddings: { readonly baseURL: string; readonly model: string };
  const client: OpenAI;
  const citation: { readonly container_id: string; readonly file_id: string };
  const model: string;
  const id: string;
  const lastSequenceNumber: number;
  function show(event: unknown): void;
  const log: { error(error: unknown): void };
  const index: {
    find(
      query: string,
      options: { readonly limit: number; readonly tenant: string; readonly signal: AbortSignal },
    ): Promise<readonly { readonly address: string; readonly title: string; readonly excerpt: string }[]>;
  };
  function myUpstream(options: { readonly baseURL: string; readonly apiKey: string }): Upstream;
  function myEngine(options: { readonly queueName: string }): BackgroundEngine;
  function replyFor(scenario: UpstreamScenario): FakeReply;
  function describe(name: string, body: () => void): void;
  function it(name: string, body: () => Promise<void> | void): void;
}
