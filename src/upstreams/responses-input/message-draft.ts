/** Writes a conversation of items as messages of users and assistants, for APIs whose tool results follow the message that made the calls. */
import { SILENT_TYPES } from '../../protocol/chat-completions/messages.ts';
import { modelCallOfItem } from '../../protocol/ids.ts';
import type { Item } from '../../protocol/items.ts';
import { isUnreadable } from '../../protocol/tool-calls/arguments/call-arguments.ts';
import { pairCalls } from '../../protocol/tool-calls/conversation/pair-calls.ts';
import { imageMessage } from '../../protocol/tool-calls/image-generation-call.ts';
import type { AnsweredToolCall } from '../../protocol/tool-calls/kind.ts';
import { answeredToolCall } from '../../protocol/tool-calls/kinds.ts';
import { type CallIds, callIds } from '../../protocol/tool-calls/names/call-ids.ts';

/** A message to which more content may be added. */
export interface OpenMessage<Role extends string, Part> {
  readonly role: Role;
  readonly content: Part[];
}

/** A conversation that is being written, in the parts of one API. */
export abstract class MessageDraft<Role extends string, Part> {
  readonly messages: OpenMessage<Role | 'user' | 'assistant', Part>[] = [];
  /** Of calls: letters, digits, `_` and `-`, and each once. */
  protected readonly ids: CallIds = callIds('word');
  private readonly results: Part[] = [];
  private readonly resultRole: Role | 'user';
  /** The model call of the calls whose results have not been given yet. */
  private modelCall: string | undefined = undefined;
  /** Whether an output of them has come: if the model call is unknown, further calls are not of it, and words are not either. */
  private isAnswered = false;
  /** Whether one of them holds its output itself: if the model call is unknown, words are not of it. */
  private holdsOutput = false;

  /** `resultRole` is whose message has the results of tools. */
  constructor(resultRole: Role | 'user') {
    this.resultRole = resultRole;
  }

  /**
   * `skipped` receives the items that are not supported, and calls whose arguments are no object. Throws `ApiError` if calls and outputs do not match,
   * and for media that the API does not have.
   */
  write(input: readonly Item[], skipped: (item: Item) => void): void {
    const { items, outputs } = pairCalls(input);
    const answers = new Set(outputs.values());
    for (const item of items) {
      if (SILENT_TYPES.has(item.type)) continue;
      const call = answeredToolCall(item, outputs);
      if (call && isUnreadable(call.arguments)) skipped(item);
      if (call) this.addCall(item, call);
      else if (!answers.has(item) && !this.addMessage(item)) skipped(item);
      this.isAnswered ||= answers.has(item);
      this.holdsOutput ||= call !== undefined && !outputs.has(item);
    }
    this.giveResults();
  }

  /** A call and its result. */
  protected abstract callParts(id: string, call: AnsweredToolCall): readonly [call: Part, result: Part];

  /** The parts of a message's content. */
  protected abstract contentParts(content: unknown): readonly Part[];

  /** What a system or developer message says. */
  protected abstract addSystem(content: unknown): void;

  /** Called when the words of an answer have been added. */
  protected addedAnswer(_parts: readonly Part[]): void {}

  /** An item that is neither a call of a tool nor a message; returns whether it is supported. */
  protected abstract addOther(item: Item): boolean;

  /** Text that follows tool calls in the same model answer stays with them; later text follows their results. */
  protected addAnswer(item: Item, parts: readonly Part[]): void {
    const modelCall = modelCallOfItem(String(item.id));
    const followsResults = modelCall === undefined && this.holdsOutput;
    if (this.startsNewMessage(modelCall) || followsResults) this.giveResults();
    this.add('assistant', parts);
  }

  private addCall(item: Item, call: AnsweredToolCall): void {
    const modelCall = modelCallOfItem(String(item.id));
    // Calls of one message are parallel; those of two rounds are not, although nothing separates them.
    if (this.startsNewMessage(modelCall)) this.giveResults();
    const [part, result] = this.callParts(this.ids(String(call.id ?? item.id)), call);
    this.add('assistant', [part]);
    this.results.push(result);
    this.modelCall = modelCall;
  }

  private addMessage(item: Item): boolean {
    const message = imageMessage(item) ?? item;
    if (message.type !== 'message') return this.addOther(message);
    const { role, content } = message;
    if (role === 'assistant') {
      const parts = this.contentParts(content);
      this.addAnswer(message, parts);
      this.addedAnswer(parts);
    } else if (role === 'user') {
      this.giveResults();
      this.add('user', this.contentParts(content));
    } else this.addSystem(content);
    return true;
  }

  /** Whether an item of this model call is not of the message that made the last tool calls. */
  private startsNewMessage(modelCall: string | undefined): boolean {
    return modelCall !== this.modelCall || (modelCall === undefined && this.isAnswered);
  }

  private giveResults(): void {
    this.add(this.resultRole, this.results.splice(0));
    this.modelCall = undefined;
    this.isAnswered = false;
    this.holdsOutput = false;
  }

  private add(role: Role | 'user' | 'assistant', parts: readonly Part[]): void {
    addTo(this.messages, role, parts);
  }
}

/** Merges adjacent messages of one role. */
export function addTo<Role extends string, Part>(
  messages: OpenMessage<Role, Part>[],
  role: Role,
  parts: readonly Part[],
): void {
  if (parts.length === 0) return;
  const last = messages.at(-1);
  if (last?.role === role) for (const part of parts) last.content.push(part);
  else messages.push({ role, content: [...parts] });
}
