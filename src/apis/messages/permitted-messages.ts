/** Keeps to what a request forbids where a model server speaks the Messages API itself: what obeys is passed on byte for byte. */

import {
  type CallRules,
  callRefusal,
  canRefuse,
  lacksCallNote,
  type RefusedCall,
  refusalNote,
  refusalText,
} from '../../engine/turn/machine/call-permission.ts';
import type { ChatBatch, Upstream, UpstreamCall } from '../../ports/upstream.ts';
import { wrapUpstream } from '../../ports/wrap-upstream.ts';
import { ApiError } from '../../protocol/errors.ts';
import { jsonIn } from '../../protocol/json/json-text.ts';
import { isRecord, type JsonObject, plainText, recordsIn } from '../../protocol/record.ts';
import type { MessagesBody } from './request/schema.ts';

type SendMessages = NonNullable<Upstream['messages']>;

/** What the request's `tool_choice` says of the client's tools; those that the model server runs itself are its own. */
function rulesIn({ tool_choice: choice }: MessagesBody): CallRules {
  if (!choice) return {};
  const { type, name, disable_parallel_tool_use: single } = choice;
  if (type === 'none') return { allowedTools: new Set() };
  const singleCall = single === true;
  if (type === 'tool') return { singleCall, forcedTool: plainText(name) };
  return { singleCall, needsCall: type === 'any' };
}

/**
 * The server for this request: where the model calls what it may not, the call is left out, the model is told so and asked again, as in
 * the turns of all APIs. The same server for a request that forbids nothing.
 */
export function permittedUpstream(upstream: Upstream, body: MessagesBody): Upstream {
  const rules = rulesIn(body);
  const { messages } = upstream;
  if (!messages || !(canRefuse(rules) || rules.needsCall === true)) return upstream;
  const send = messages.bind(upstream);
  return wrapUpstream(upstream, { messages: (sent, call) => permitted(send, sent, call, rules) });
}

async function* permitted(
  send: SendMessages,
  sent: JsonObject,
  call: UpstreamCall,
  rules: CallRules,
): AsyncGenerator<ChatBatch, void> {
  const answer = new PermittedAnswer(rules, recordsIn(sent.tools), call);
  let asked = sent;
  for (let round = 1; ; round += 1) {
    let whole = '';
    let isOpen = round > 1;
    for await (const batch of send(asked, call)) {
      if (batch.whole && sent.stream !== true) {
        whole += batch.data.join('');
        if (batch.server !== undefined && round === 1) yield { ...batch, data: [] };
        continue;
      }
      const data = batch.whole ? batch.data : batch.data.flatMap((each) => answer.event(each));
      // The first opens the client's stream; more without data would only suppress heartbeats.
      if (data.length > 0 || !isOpen) yield { ...batch, data };
      isOpen = true;
    }
    const data = whole === '' ? answer.endEvents(round) : answer.wholeMessage(whole, round);
    if (data.length > 0) yield { whole: whole !== '', data };
    if (!answer.isAskedAgain) return;
    asked = { ...asked, messages: [...recordsIn(asked.messages), ...answer.nextMessages()] };
  }
}

/** A block that the model writes, and the pieces of its arguments. */
interface OpenBlock {
  readonly block: Record<string, unknown>;
  readonly json: string[];
}

/** One answer of a model, and what the client is shown of it. */
class PermittedAnswer {
  /** Whether the model is asked again: what it wrote so far is no answer. */
  isAskedAgain = false;
  private readonly rules: CallRules;
  private readonly offered: readonly string[];
  private readonly call: UpstreamCall;
  private isForced: boolean;
  /** Blocks that the client has been shown, of all rounds. */
  private shown = 0;
  private readonly shownBlocks: unknown[] = [];
  /** The same of this round: their places for the client, by the model's. */
  private places = new Map<unknown, number>();
  private blocks: JsonObject[] = [];
  private open = new Map<unknown, OpenBlock>();
  private refused: RefusedCall[] = [];
  private hasCall = false;
  /** The events of the round that end the message, which wait while it is not known whether it has ended. */
  private ends: JsonObject[] = [];
  private first: JsonObject | undefined = undefined;
  private message: JsonObject = {};
  private readonly usages: JsonObject[] = [];
  private bytes = 0;

  constructor(rules: CallRules, tools: readonly JsonObject[], call: UpstreamCall) {
    this.rules = rules;
    this.offered = tools.map(({ name }) => plainText(name));
    this.call = call;
    this.isForced = rules.forcedTool !== undefined;
  }

  /** The event as the client receives it; empty for one that it does not. */
  event(data: string): readonly string[] {
    const event = jsonIn(data);
    if (!isRecord(event)) return [data];
    const { type, index } = event;
    if (type === 'message_start') return this.start(event, data);
    if (type === 'content_block_start') {
      const block = isRecord(event.content_block) ? { ...event.content_block } : {};
      this.open.set(index, { block, json: [] });
      return this.take(block, index) ? this.placed(event, data) : [];
    }
    if (type === 'content_block_delta') this.grow(event);
    if (type === 'content_block_stop') this.close(index);
    if (type === 'content_block_delta' || type === 'content_block_stop') return this.placed(event, data);
    if (type !== 'message_delta' && type !== 'message_stop') return [data];
    this.ends.push(event);
    // Nothing is to be said of a message that obeys, but what the server says.
    return this.hasObeyed ? [data] : [];
  }

  /** Whether nothing has been left out so far, in this round or one before. */
  private get hasObeyed(): boolean {
    return this.usages.length === 0 && this.refused.length === 0;
  }

  /** What follows the events of a round: the end of the message, if it is over. */
  endEvents(round: number): readonly string[] {
    const { ends, hasObeyed } = this;
    const stop = ends.map(({ delta }) => (isRecord(delta) ? delta.stop_reason : undefined)).find(Boolean);
    const usage = ends.map((event) => event.usage).find(isRecord) ?? {};
    const reason = this.endRound(stop, round);
    this.usages.push({ ...(isRecord(this.message.usage) ? this.message.usage : {}), ...usage });
    if (hasObeyed || this.isAskedAgain) return [];
    return ends.map((event) => {
      if (event.type !== 'message_delta') return JSON.stringify(event);
      const delta = { ...(isRecord(event.delta) ? event.delta : {}), stop_reason: reason };
      return JSON.stringify({ ...event, delta, usage: usageOf(this.usages) });
    });
  }

  /** The message as the client receives it; empty if it is not over. */
  wholeMessage(text: string, round: number): readonly string[] {
    const message = jsonIn(text);
    // An error is the caller's to read.
    if (!isRecord(message) || !Array.isArray(message.content)) return [text];
    this.beginRound(message);
    for (const block of recordsIn(message.content)) {
      if (this.take(block, this.blocks.length)) this.shownBlocks.push(block);
      this.blocks.push(block);
    }
    const { hasObeyed } = this;
    this.usages.push(isRecord(message.usage) ? message.usage : {});
    const reason = this.endRound(message.stop_reason, round);
    if (this.isAskedAgain) return [];
    if (hasObeyed) return [text];
    const usage = usageOf(this.usages);
    return [JSON.stringify({ ...this.first, content: this.shownBlocks, stop_reason: reason, usage })];
  }

  /** What the model has written, and what it is told of it. */
  nextMessages(): readonly JsonObject[] {
    const results = this.refused.map((refused) => ({
      type: 'tool_result',
      tool_use_id: refused.id,
      is_error: true,
      content: refusalText(refused, this.rules, this.offered),
    }));
    return [
      { role: 'assistant', content: this.blocks },
      { role: 'user', content: results },
    ];
  }

  private start(event: JsonObject, data: string): readonly string[] {
    const isFirst = this.first === undefined;
    this.beginRound(isRecord(event.message) ? event.message : {});
    return isFirst ? [data] : [];
  }

  private beginRound(message: JsonObject): void {
    this.first ??= message;
    this.message = message;
    this.isAskedAgain = false;
    this.places = new Map();
    this.open = new Map();
    this.blocks = [];
    this.refused = [];
    this.ends = [];
    this.hasCall = false;
  }

  /** Whether the client is shown the block. */
  private take({ type, name, id }: JsonObject, index: unknown): boolean {
    if (type === 'tool_use') {
      const called = plainText(name);
      const why = callRefusal(this.rules, called, { isForced: this.isForced, hasCall: this.hasCall });
      if (why !== undefined) {
        this.refused.push({ id: plainText(id), name: called, arguments: '', why });
        this.call.note(refusalNote(called, why));
        return false;
      }
      this.hasCall = true;
      if (called === this.rules.forcedTool) this.isForced = false;
    }
    this.places.set(index, this.shown);
    this.shown += 1;
    return true;
  }

  /** The event with the place that its block has for the client. */
  private placed(event: JsonObject, data: string): readonly string[] {
    const place = this.places.get(event.index);
    if (place === undefined) return [];
    return place === event.index ? [data] : [JSON.stringify({ ...event, index: place })];
  }

  private grow({ index, delta }: JsonObject): void {
    const { block, json } = this.open.get(index) ?? {};
    if (!block || !isRecord(delta)) return;
    this.bytes += JSON.stringify(delta).length;
    for (const name of ['text', 'thinking', 'signature'])
      if (typeof delta[name] === 'string') block[name] = plainText(block[name]) + delta[name];
    if (typeof delta.partial_json === 'string') json?.push(delta.partial_json);
    if (this.bytes > this.call.limits.outputBytes)
      throw new ApiError('output_too_large', 'The model wrote more than the limit for an answer.');
  }

  private close(index: unknown): void {
    const { block, json = [] } = this.open.get(index) ?? {};
    if (!block) return;
    this.open.delete(index);
    this.blocks.push(json.length === 0 ? block : { ...block, input: jsonIn(json.join('')) ?? {} });
  }

  /** Decides whether the model is asked again. Returns why the message ends, if it does. */
  private endRound(stop: unknown, round: number): unknown {
    const { rules, refused, call, blocks } = this;
    const hasText = blocks.some(({ type, text }) => type === 'text' && plainText(text).trim() !== '');
    const wasCut = stop !== 'tool_use' && stop !== 'end_turn';
    const isOver = this.hasCall || wasCut || refused.length === 0 || (rules.allowedTools?.size === 0 && hasText);
    this.isAskedAgain = !isOver && round <= call.limits.toolIterations;
    if (this.isAskedAgain) return undefined;
    const demandsCall = rules.forcedTool !== undefined || rules.needsCall === true;
    if (demandsCall && !this.hasCall && !wasCut) call.note(lacksCallNote(rules));
    if (!isOver) return 'pause_turn';
    return stop === 'tool_use' && !this.hasCall ? 'end_turn' : stop;
  }
}

/** The sums of the counts of several answers, with what else the last one reports. */
function usageOf(usages: readonly JsonObject[]): JsonObject {
  const [last = {}] = usages.slice(-1);
  const sums = Object.entries(last).map(([name, value]) => {
    if (typeof value !== 'number') return [name, value] as const;
    return [name, usages.reduce((sum, usage) => sum + (Number(usage[name]) || 0), 0)] as const;
  });
  return Object.fromEntries(sums);
}
