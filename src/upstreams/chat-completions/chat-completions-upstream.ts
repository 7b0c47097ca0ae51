/** The upstream for any Chat Completions server. */

import type { Upstream, UpstreamCall } from '../../ports/upstream.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import { stateOwnerFor } from '../http/base-path.ts';
import { ModelTable } from '../http/model-table.ts';
import { passOn } from '../http/pass-on.ts';
import { toCountBody } from '../responses-input/count-body.ts';
import { toChatBody, withKnownToolChoice } from './chat-body.ts';
import { type ChatCompletionsOptions, chatSettings } from './chat-options.ts';
import { ChatServer } from './chat-server.ts';
import { ChatStreams } from './chat-stream.ts';
import { TokenCounts } from './count-tokens.ts';
import { SeenFields } from './seen-fields.ts';
import { ServerFacts } from './server-kind.ts';

export type { ChatCompletionsOptions } from './chat-options.ts';

/** An upstream that has every optional method of a single server of its API, for upstreams of a host's own that choose among several. */
export interface ChatCompletionsUpstream
  extends Required<Omit<Upstream, 'messages' | 'speaksMessages' | 'nativeTypes' | 'servers'>> {
  readonly stateOwner: string;
}

/**
 * Talks to `POST {baseURL}/chat/completions`, always requesting a stream; a server that answers with one JSON object
 * works too. Without `baseURL` and `apiKey` it reads `OPENAI_BASE_URL` and `OPENAI_API_KEY`, as OpenAI's SDKs do.
 * Throws a `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import { chatCompletionsUpstream, responsesRouter } from 'express-open-responses';
 *
 * const router = responsesRouter({ upstream: chatCompletionsUpstream({ baseURL: 'http://127.0.0.1:11434/v1' }) });
 * ```
 */
export function chatCompletionsUpstream(options: ChatCompletionsOptions = {}): ChatCompletionsUpstream {
  const settings = chatSettings(options);
  const { serverKind, baseURL, toolChoice } = settings;
  const server = new ChatServer(settings);
  const { client, listModels } = server;
  const headersFor = (call: UpstreamCall) => server.headers(call);
  const seen = new SeenFields();
  const facts = new ServerFacts(client, serverKind, headersFor);
  const models = new ModelTable(settings.models, {
    list: listModels,
    look: (...about) => facts.look(...about),
    isOneForAll: (entries) => facts.isOneForAll(entries),
  });
  const streams = new ChatStreams(server, settings, options, { models, seen });
  const counts = new TokenCounts(client, serverKind, listModels);

  async function countTokens(request: ModelRequest, call: UpstreamCall): Promise<number | undefined> {
    const headers = headersFor(call);
    const reasoningField = seen.get(request.model) ?? settings.reasoningField;
    const bodies = {
      model: request.model,
      chatBody: () => toChatBody(request, { ...settings, reasoningField }, UNREPORTED),
      responsesBody: () => toCountBody(request),
    };
    return await server.withoutSecrets(headers, () => counts.count(bodies, headers, call));
  }

  return {
    name: 'chat-completions',
    stateOwner: stateOwnerFor('chat-completions', baseURL),
    origin: baseURL.origin,
    stream: (request, call) => streams.stream(request, call),
    chat: (body, call) => server.open(withKnownToolChoice(body, toolChoice), call).batches,
    pass(request, call) {
      const headers = headersFor(call);
      return passOn(client, { request, headers, scrubError: server.scrubFor(headers) }, call);
    },
    countTokens,
    redact: (error, call) => server.redact(error, call),
    async close() {
      models.close();
      await client.close();
    },
    facts: (model, call) => models.facts(model, call),
    models: (call) => models.list(call),
  };
}

const UNREPORTED = { skipped: () => {}, leftOut: () => {} };
