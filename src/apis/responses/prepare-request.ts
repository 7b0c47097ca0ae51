/** Everything that happens to a request until it is one to a model: find history, settle tools, translate. */
import { type Answers, readAnswers } from '../../approvals/read-answers.ts';
import type { Call } from '../../ports/api-request.ts';
import { noteOf } from '../../ports/prepare.ts';
import { needTenant } from '../../ports/scope.ts';
import type { ModelRequest } from '../../ports/upstream.ts';
import type { Item } from '../../protocol/items.ts';
import { CODE_INTERPRETER } from '../../protocol/tool-names.ts';
import type { CoreSettings } from '../../server/options.ts';
import { type Gates, gatesOf } from '../../tools/approval-rules.ts';
import { withNamedFiles } from '../../tools/code-files.ts';
import { forModel, namesServing, type Offer } from '../../tools/toolset.ts';
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
  /** Which of the server's tools wait for approval. */
  readonly gates: Gates;
  /** What the user has decided of calls that waited. */
  readonly answers: Answers;
  readonly request: ModelRequest;
}

/** Throws `ApiError` for what is wrong with the request. */
export async function prepareRequest(
  given: Call,
  checked: CreateBody,
  settings: CoreSettings,
): Promise<PreparedRequest> {
  const prepared = await prepareConversation(given, checked, settings);
  const { body, input, conversation, window } = prepared;
  const call = await prepareTools(prepared.call, settings);
  // The casts: the step has left its part in the context, and the body is the one that was checked.
  const { offer, client } = (call.context as Required<NonNullable<Call['context']>>).tools;
  const { tool_choice: choice } = call.body as Fields;
  const additional = additionalTools(conversation);
  const tools = planTools({ tools: client ?? [], additional, choice }, offer, noteOf(given, settings));
  const brought = [...(client ?? []), ...additional];
  const gates = gatesOf(offer, call, settings.approval);
  if (gates.size > 0) needTenant(call.scope, 'A tool that waits for approval', 'tools');
  const answers = await readAnswers({ call, input, conversation, offer, gates }, settings);
  const runsCode = namesServing(offer, CODE_INTERPRETER).length > 0;
  const named = runsCode ? withNamedFiles(window.items, conversation) : window.items;
  const request = modelRequest(body, forModel(withDenied(named, answers), offer), tools);
  const { history, seed } = prepared;
  const found = { body, history, seed, input, conversation, window };
  return { call, offer, brought, tools, gates, answers, request, ...found };
}

/** The items with the calls that the user denies now: some clients send the answer alone. */
function withDenied(items: readonly Item[], { denied }: Answers): readonly Item[] {
  const unseen = denied.flatMap(({ request }) =>
    request && !items.some(({ id }) => id === request.id) ? [request] : [],
  );
  if (unseen.length === 0) return items;
  const requests = new Map(unseen.map((request) => [request.id, request]));
  return items.flatMap((item) => {
    const request = item.type === 'mcp_approval_response' ? requests.get(String(item.approval_request_id)) : undefined;
    return request ? [request, item] : [item];
  });
}
