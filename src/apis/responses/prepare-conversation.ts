/** Finds the whole conversation that a request continues, and what of it the model is told. */

import type { Compacted } from '../../compaction/seal.ts';
import type { CompactionSettings } from '../../compaction/settings.ts';
import { type ContextWindow, contextWindow } from '../../compaction/window.ts';
import { ownInput } from '../../history/own-input.ts';
import type { Call } from '../../ports/api-request.ts';
import type { PrepareSettings } from '../../ports/prepare.ts';
import type { LoadedHistory } from '../../ports/turn-context.ts';
import { ApiError } from '../../protocol/errors.ts';
import { randomSeed } from '../../protocol/ids.ts';
import type { Item } from '../../protocol/items.ts';
import { isRecord } from '../../protocol/record.ts';
import type { CreateBody } from '../../protocol/responses/schema.ts';
import { inputItems } from './parse.ts';
import { prepareHistory } from './prepare-history.ts';

/** What finding it takes. */
export interface ConversationSettings extends PrepareSettings {
  readonly compaction: CompactionSettings;
}

/** A request with its past. */
export interface PreparedConversation {
  /** The call as `prepareHistory` left it. */
  readonly call: Call;
  /** The body as it was checked, with the past that it really has. */
  readonly body: CreateBody;
  readonly history: LoadedHistory;
  /** The random part of the new response's id. */
  readonly seed: string;
  /** The request's own items. */
  readonly input: readonly Item[];
  /** All items, oldest first. */
  readonly conversation: readonly Item[];
  /** What of them the model is told. */
  readonly window: ContextWindow;
}

/** Throws `ApiError` as `prepareHistory` does, and `invalid_encrypted_content` for compaction items that are not ours. */
export async function prepareConversation(
  given: Call,
  checked: CreateBody,
  settings: ConversationSettings,
): Promise<PreparedConversation> {
  const open = (sealed: unknown) => settings.compaction.seal.open(sealed, given.scope);
  refuseUnreadable(given.body, open);
  const call = await prepareHistory(given, settings);
  // The casts: the step has left its part in the context, and the body is the one that was checked.
  const { history } = call.context as Required<NonNullable<Call['context']>>;
  const { input: sent } = call.body as Readonly<Record<string, unknown>>;
  const seed = randomSeed();
  const input = inputItems(ownInput(sent, history), seed);
  const conversation = [...(history.loaded as readonly Item[]), ...input];
  const window = contextWindow(conversation, (item) => opened(open(item.encrypted_content), pastIn(checked)));
  return { call, body: withPast(checked, history), history, seed, input, conversation, window };
}

/** What a middleware has loaded is the request's past too. */
function withPast(body: CreateBody, { previous, conversation }: LoadedHistory): CreateBody {
  const past = previous ? { previous_response_id: previous.id } : {};
  return Object.assign({}, body, past, conversation ? { conversation } : {});
}

/** Every one that is sent, also where a newer one stands for it: the client is told what is wrong, and where. */
function refuseUnreadable(body: unknown, open: (sealed: unknown) => Compacted | undefined): void {
  const input = isRecord(body) && Array.isArray(body.input) ? body.input : [];
  for (const [index, item] of input.entries()) {
    if (isRecord(item) && item.type === 'compaction')
      opened(open(item.encrypted_content), `input[${index}].encrypted_content`);
  }
}

function pastIn({ previous_response_id: id, conversation }: CreateBody): string {
  if (id) return 'previous_response_id';
  return conversation ? 'conversation' : 'input';
}

function opened(compacted: Compacted | undefined, param: string): Compacted {
  if (compacted) return compacted;
  const why = 'it was changed, made for someone else, or made with a key that this server does not have';
  throw new ApiError('invalid_encrypted_content', `The compaction item in '${param}' cannot be read: ${why}.`, {
    param,
  });
}
