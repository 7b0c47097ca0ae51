/** A whole message: the content, the reason of its end and the tokens that a turn's end makes. */

import { textWithInputs } from '../../protocol/anthropic/tool-inputs.ts';
import type { TurnEnd, Usage } from '../../protocol/events.ts';
import { partText, thoughtText } from '../../protocol/item-text.ts';
import type { OutputItem, ReasoningItem } from '../../protocol/items.ts';
import type { Note } from '../../protocol/note.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { jsonReply, type Reply } from '../../protocol/reply.ts';
import { argumentsObject, isUnreadable } from '../../protocol/tool-calls/arguments/call-arguments.ts';
import { encodeCallId } from '../../protocol/tool-calls/names/call-ids.ts';
import type { Block } from './request/schema.ts';
import { serverBlocks } from './server-calls.ts';

/** What all messages of one request have in common. */
export interface MessageFacts {
  readonly id: string;
  readonly model: string;
  /** The texts that end the answer; model servers report others, too. */
  readonly stopSequences: ReadonlySet<unknown>;
  /** Whether the client is shown the item. */
  readonly isShown: (item: OutputItem) => boolean;
  /** The data of a block with what it is not shown, for the request in which it answers its own calls. */
  readonly sealHidden: (output: readonly OutputItem[]) => string | undefined;
  /** Whether the client is shown the text of thoughts. */
  readonly showsThoughts: boolean;
  /** What the item holds for the model's own server, opened; undefined for none, and where it may not be shown. */
  readonly stateOf?: ((item: OutputItem) => unknown) | undefined;
  /** The signature that carries a thought, or leads back to it; undefined if there is nothing to carry. */
  readonly sealThought: (item: ReasoningItem) => string | undefined;
}

/** The message before its first content. */
export function emptyMessage({ id, model }: Pick<MessageFacts, 'id' | 'model'>): JsonObject {
  return {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: NO_TOKENS,
  };
}

const NO_TOKENS = { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 };

/** The message of a turn that did not fail, as an answer. */
export function messageReply(end: TurnEnd, facts: MessageFacts): Reply {
  const blocks = end.output.filter(facts.isShown).flatMap((item) => messageBlocks(item, facts));
  const hidden = hiddenBlock(end, facts);
  const message = {
    ...emptyMessage(facts),
    content: hidden ? [...blocks, hidden] : blocks,
    ...messageEnd(end, facts),
    usage: messageUsage(end, facts),
  };
  const { status, headers } = jsonReply(message);
  // Numbers in the inputs of tools keep all their digits.
  return { status, headers, body: textWithInputs(message) };
}

const MAX_NAME = 64;

/** Notes the calls whose arguments a message can only hold as a text; a stream has the text itself. */
export function noteWrappedArguments(output: readonly OutputItem[], note: (note: Note) => void): void {
  for (const item of output) {
    if (item.type !== 'function_call' || !isUnreadable(item.arguments)) continue;
    const name = item.name.slice(0, MAX_NAME);
    const message = `The model's arguments for '${name}' are no JSON object; the message holds them as a text in one.`;
    note({ code: 'arguments_wrapped', message });
  }
}

/** The block that carries hidden items to the request that continues the turn; undefined if none does, or there are none. */
export function hiddenBlock(end: TurnEnd, { sealHidden }: MessageFacts): Block | undefined {
  const data = CONTINUED.has(stopReason(end)) ? sealHidden(end.output) : undefined;
  return data === undefined ? undefined : { type: 'redacted_thinking', data };
}

/** Why the message ended. */
export function messageEnd(end: TurnEnd, { stopSequences }: MessageFacts) {
  const reason = stopReason(end);
  const { stopSequence, isContextFull } = end.upstream ?? {};
  if (reason === 'max_tokens' && isContextFull) return { stop_reason: CONTEXT_FULL, stop_sequence: null };
  const isNamed = reason === 'end_turn' && stopSequence !== undefined && stopSequences.has(stopSequence);
  return isNamed
    ? { stop_reason: 'stop_sequence', stop_sequence: stopSequence }
    : { stop_reason: reason, stop_sequence: null };
}

const CONTEXT_FULL = 'model_context_window_exceeded';

const CONTINUED: ReadonlySet<string> = new Set(['tool_use', 'pause_turn']);

const STOP_REASONS: Readonly<Record<NonNullable<TurnEnd['reason']>, string>> = {
  max_output_tokens: 'max_tokens',
  content_filter: 'refusal',
  max_tool_calls: 'pause_turn',
  max_tool_iterations: 'pause_turn',
  repeated_tool_calls: 'end_turn',
  steered: 'end_turn',
};

function stopReason({ reason, output }: Pick<TurnEnd, 'reason' | 'output'>): string {
  const stopped = reason === null ? undefined : STOP_REASONS[reason];
  const isPaused = stopped === 'pause_turn' || reason === 'repeated_tool_calls';
  if (stopped !== undefined && !isPaused) return stopped;
  // Where the server's limit is reached beside calls of the client, these go first: a message with them cannot be sent back alone.
  if (output.some(({ type }) => type === 'function_call')) return 'tool_use';
  if (stopped !== undefined) return stopped;
  const isRefused = output.some(
    (item) => item.type === 'message' && item.content.some(({ type }) => type === 'refusal'),
  );
  return isRefused ? 'refusal' : 'end_turn';
}

/** The tokens of the whole turn, and the looks into the web that the client is shown. */
export function messageUsage({ usage, output }: TurnEnd, { isShown }: Pick<MessageFacts, 'isShown'>): JsonObject {
  const looks = output.filter(isShown).flatMap((item) => (item.type === 'web_search_call' ? [item.action.type] : []));
  if (looks.length === 0) return tokenCounts(usage);
  const searches = looks.filter((type) => type === 'search').length;
  const requests = { web_search_requests: searches, web_fetch_requests: looks.length - searches };
  return { ...tokenCounts(usage), server_tool_use: requests };
}

/** Anthropic's `input_tokens` exclude those read from a cache or written to it. */
function tokenCounts({ input_tokens: all, input_tokens_details: details, ...usage }: Usage): JsonObject {
  const { cached_tokens: read, cache_write_tokens: written = 0 } = details;
  const { reasoning_tokens: thinking } = usage.output_tokens_details;
  return {
    input_tokens: Math.max(all - read - written, 0),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    output_tokens: usage.output_tokens,
    ...(thinking > 0 ? { output_tokens_details: { thinking_tokens: thinking } } : {}),
  };
}

function messageBlocks(item: OutputItem, facts: MessageFacts): readonly Block[] {
  switch (item.type) {
    case 'message':
      return item.content.flatMap((part): readonly Block[] => {
        const text = partText(part);
        const citations = part.type === 'output_text' ? part.annotations.flatMap((each) => citation(each) ?? []) : [];
        // Anthropic refuses a history with a blank text.
        if (text.trim() === '' && citations.length === 0) return [];
        return [{ type: 'text', text, ...(citations.length > 0 ? { citations } : {}) }];
      });
    case 'reasoning': {
      const signature = facts.sealThought(item);
      if (signature === undefined) return [];
      if (!facts.showsThoughts) return [{ type: 'thinking', thinking: '', signature }];
      const thinking = thoughtText(item);
      return thinking === ''
        ? [{ type: 'redacted_thinking', data: signature }]
        : [{ type: 'thinking', thinking, signature }];
    }
    case 'function_call':
      return [
        { type: 'tool_use', id: encodeCallId(item.call_id), name: item.name, input: argumentsObject(item.arguments) },
      ];
    default:
      return serverBlocks(item, facts.stateOf);
  }
}

/** A page that was cited; files of other servers mean nothing to Anthropic's clients. */
export function citation(annotation: { readonly type: string; readonly url?: string; readonly title?: string }) {
  if (annotation.type !== 'url_citation') return undefined;
  const { url, title } = annotation;
  return { type: 'web_search_result_location', url, title, cited_text: '', encrypted_index: '' };
}
