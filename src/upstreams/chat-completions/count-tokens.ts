/** Counts the tokens of a request by the model server's own tokenizer and template, where its kind of server can. */

import type { UpstreamCall } from '../../ports/upstream.ts';
import { ApiError } from '../../protocol/errors.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { fetchJson } from '../http/exchange.ts';
import type { HttpClient } from '../http/http.ts';
import { detectServerKind, type ServerKind } from './server-kind.ts';

/** A request as both of its APIs write it; each is made only where it is sent. */
interface CountedRequest {
  readonly model: string;
  readonly chatBody: () => JsonObject;
  readonly responsesBody: () => JsonObject;
}

type Kind = Exclude<ServerKind, 'auto'>;
type Post = (path: string, body: JsonObject, isBeside: boolean) => Promise<JsonObject>;

/** How long the kind of a server is believed, in milliseconds: another may be started at its address. */
const KIND_MS = 10 * 60_000;

/** Counts at one server. */
export class TokenCounts {
  private readonly client: HttpClient;
  private readonly way: ServerKind;
  private readonly models: (call: UpstreamCall) => Promise<readonly JsonObject[]>;
  private kind: { readonly found: Promise<Kind>; readonly until: number } | undefined = undefined;

  constructor(client: HttpClient, way: ServerKind, models: TokenCounts['models']) {
    this.client = client;
    this.way = way;
    this.models = models;
  }

  /** Undefined where this server cannot count it. Throws as a model call does. */
  async count(
    request: CountedRequest,
    headers: Readonly<Record<string, string>>,
    call: UpstreamCall,
  ): Promise<number | undefined> {
    const kind = this.way === 'auto' ? await this.kindOf(call) : this.way;
    const post: Post = async (path, body, isBeside) => {
      const answer = await fetchJson(this.client, { path, headers, body: JSON.stringify(body), isBeside }, call);
      return isRecord(answer) ? answer : {};
    };
    if (kind === 'vllm') return positiveCount((await post('/tokenize', templateBody(request.chatBody()), true)).count);
    return kind === 'llama.cpp' ? countAtLlama(request, post) : undefined;
  }

  /** A server that does not answer now, or not this client, is asked again. */
  private kindOf(call: UpstreamCall): Promise<Kind> {
    if (!this.kind || this.kind.until < Date.now()) {
      const found = this.models(call).then(detectServerKind, (): Kind => {
        this.kind = undefined;
        return 'none';
      });
      this.kind = { found, until: Date.now() + KIND_MS };
    }
    return this.kind.found;
  }
}

/** By the whole request, or, at servers that lack that path, by the text that the template makes of it. */
async function countAtLlama(request: CountedRequest, post: Post): Promise<number | undefined> {
  try {
    const { input_tokens: tokens } = await post('/responses/input_tokens', request.responsesBody(), false);
    if (positiveCount(tokens) !== undefined) return positiveCount(tokens);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
  const { prompt } = await post('/apply-template', templateBody(request.chatBody()), true);
  if (typeof prompt !== 'string') return undefined;
  const { tokens } = await post('/tokenize', { content: prompt, add_special: true, parse_special: true }, true);
  return Array.isArray(tokens) && tokens.length > 0 ? tokens.length : undefined;
}

/** What the template reads of a request. */
function templateBody({ model, messages, tools }: JsonObject): JsonObject {
  return { model, messages, tools, add_generation_prompt: true };
}

function positiveCount(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : undefined;
}
