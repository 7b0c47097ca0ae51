/** Everything that happens to a request until it is one to a model: find history, settle tools, translate. */
import type { Call } from '../call.ts';
import type { CoreSettings } from '../options.ts';
import { noteOf } from '../prepare/prepare.ts';
import { withNamedFiles } from '../tools/code-files.ts';
import { CODE_INTERPRETER } from '../tools/names.ts';
import { forModel, namesServing, type Offer } from '../tools/offer.ts';
import type { ModelRequest } from '../upstream/upstream.ts';
import { additionalTools } from './client-tools.ts';
import { modelRequest, planTools, type ToolPlan } from './parse.ts';
import { type PreparedConversation, prepareConversation } from './prepare-conversation.ts';
import { prepareTools } from './prepare-tools.ts';
import type { CreateBody } from './schema.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A request with everything that the model is told. */
export interface PreparedRequest extends PreparedConversation {
  /** The server's own tools. */
  readonly offer: Offer;
  /** The client's tools, those in its input included. */
  readonly brought: readonly Fields[];
  readonly tools: ToolPlan;
  readonly request: ModelRequest;
}

/** Throws `ApiError` for what is wrong with the request. */
export async function prepareRequest(
  given: Call,
  checked: CreateBody,
  settings: CoreSettings,
): Promise<PreparedRequest> {
  const prepared = await prepareConversation(given, checked, settings);
  const { body, conversation, window } = prepared;
  const call = await prepareTools(prepared.call, settings);
  // The casts: the step has left its part in the context, and the body is the one that was checked.
  const { offer, client } = (call.context as Required<NonNullable<Call['context']>>).tools;
  const { tool_choice: choice } = call.body as Fields;
  const additional = additionalTools(conversation);
  const tools = planTools({ tools: client ?? [], additional, choice }, offer, noteOf(given, settings));
  const brought = [...(client ?? []), ...additional];
  const items =
    namesServing(offer, CODE_INTERPRETER).length > 0 ? withNamedFiles(window.items, conversation) : window.items;
  return { ...prepared, call, offer, brought, tools, request: modelRequest(body, forModel(items, offer), tools) };
}
