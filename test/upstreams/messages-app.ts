/** An app over `anthropicUpstream` and a model server that replays. */
import { type AnthropicOptions, anthropicUpstream } from 'express-open-responses/upstreams/anthropic';
import { stateSealer } from '../../src/apis/endpoint/provider-state.ts';
import type { RouterOptions } from '../../src/index.ts';
import { readStateOwner } from '../../src/ports/upstream.ts';
import { type FakeAnswer, type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { startApp } from '../support/app.ts';

const SECRET = 'the secret of these tests';

/** Where to ask, and what answers behind it. */
export interface MessagesApp {
  readonly url: string;
  readonly fake: FakeUpstream;
  /** What a sealed `encrypted_content` holds, and the other way. */
  readonly unsealed: (text: unknown) => unknown;
  readonly sealed: (state: unknown) => string;
  close(): Promise<void>;
}

/** Starts both. Nothing is tried twice, so that each request is one request to the model server. */
export async function startMessagesApp(
  upstreamOptions: AnthropicOptions = {},
  options: RouterOptions = {},
): Promise<MessagesApp> {
  const fake = await startFakeUpstream();
  const upstream = anthropicUpstream({ baseURL: fake.baseURL, apiKey: 'sk-ant-test', retries: 0, ...upstreamOptions });
  const app = await startApp({ options: { secret: SECRET, ...options, upstream } });
  const bound = ['anonymous', readStateOwner(upstream, '')];
  async function close(): Promise<void> {
    await app.close();
    await upstream.close?.();
    await fake.close();
  }
  return {
    url: app.url,
    fake,
    unsealed: (text) => stateSealer(SECRET).open(text, bound),
    sealed: (state) => stateSealer(SECRET).seal(state, bound),
    close,
  };
}

/** The bytes of a stream, as a reply. */
export function streamOf(body: FakeAnswer['body']): FakeAnswer {
  return { body, headers: { 'content-type': 'text/event-stream; charset=utf-8' } };
}
