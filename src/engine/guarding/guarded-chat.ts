/** Chat Completions behind the guards of one request. */
import type { ChatBatch, Upstream, UpstreamCall } from '../../ports/upstream.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { ChatAnswer } from './answers/chat-answer.ts';
import { guardError } from './answers/guarded-error.ts';
import { type BatchGuard, guardedStream } from './answers/guarded-stream.ts';
import { bodyForModel, guardAddedMessages, guardBody, restoreBody } from './request/guarded-body.ts';
import type { RequestGuards } from './request/request-guards.ts';

/** What has been guarded before. */
interface SeenMessages {
  /** The messages of earlier turns. */
  readonly loaded?: readonly unknown[] | undefined;
  /** The messages as the client sent them: where files have become text since, no middleware in front has seen it. */
  readonly sent: readonly unknown[];
}

/** The body with its new messages guarded. Throws `content_filter` and `guard_failed`. */
export async function guardedMessages<Body extends JsonObject & { readonly messages: readonly unknown[] }>(
  body: Body,
  guards: RequestGuards,
  { loaded = [], sent }: SeenMessages,
): Promise<Body> {
  const { messages } = body;
  const whole = messages === sent ? body : { ...body, messages: await guardAddedMessages(sent, messages, guards) };
  const restored = await restoreBody(whole, guards);
  return guardBody(restored, guards, loaded.length > 0 ? new Set(loaded) : undefined);
}

/** The model calls of one turn. */
export function guardedChat<Body extends JsonObject>(
  chat: (body: Body, call: UpstreamCall) => ReturnType<NonNullable<Upstream['chat']>>,
  guards: RequestGuards,
): typeof chat {
  if (!guards.guardsOutput) return chat;
  const send: typeof chat = guards.restores
    ? async function* withPlaceholders(body, call) {
        yield* chat(await bodyForModel(body, guards), call);
      }
    : chat;
  return (body, call) => guardedStream(send(body, call), new ChatBatches(guards, call.limits.outputBytes));
}

class ChatBatches implements BatchGuard<ChatBatch> {
  private readonly guards: RequestGuards;
  private readonly answer: ChatAnswer;

  constructor(guards: RequestGuards, maxCharacters: number) {
    this.guards = guards;
    this.answer = new ChatAnswer(guards, maxCharacters);
  }

  failure(error: unknown): Promise<unknown> {
    return guardError(error, this.guards);
  }

  get isBlocked(): boolean {
    return this.answer.isBlocked;
  }

  async take({ whole, data }: ChatBatch): Promise<ChatBatch> {
    if (whole) return { whole, data: await Promise.all(data.map((text) => this.answer.whole(text))) };
    const events: string[] = [];
    for (const each of data) events.push(...(await this.answer.event(each)));
    return { whole, data: events };
  }
}
