/** Everything that happens to a request before the model is asked: check, find history, settle tools, translate. */
import type { Call } from '../call.ts';
import { passedHeaders } from '../endpoint.ts';
import { type RequestInfo, tell } from '../hooks.ts';
import { randomSeed, responseId } from '../ids.ts';
import type { Note } from '../note.ts';
import type { CoreSettings } from '../options.ts';
import { loadHistory, resolveReferences } from '../prepare/history.ts';
import { validateCreate } from '../prepare/validate.ts';
import { forModel, newLists, type Offer, offerTools, ownersOf } from '../tools/offer.ts';
import { toolRunner } from '../tools/tool-runner.ts';
import { keepTurn } from '../turn/keep.ts';
import type { Turn } from '../turn/run-turn.ts';
import type { TurnPlan } from '../turn/state.ts';
import { clientToolNames, clientTools, inputItems, modelRequest, planTools, type ToolPlan } from './parse.ts';
import { endedResource, startedResource } from './resource.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A request that is ready to run. */
export interface PreparedTurn {
  readonly info: RequestInfo;
  /** The resource as in `response.created`. */
  readonly started: Fields;
  readonly turn: Turn;
}

/** Throws `ApiError` for what is wrong with the request; `signal` ends the turn. */
export async function prepareTurn(call: Call, settings: CoreSettings, signal: AbortSignal): Promise<PreparedTurn> {
  const { store, limits, hooks, heartbeat, upstream } = settings;
  const { scope, requestId } = call;
  const note = (told: Note) => tell(hooks, 'onNote', told, { requestId });
  const body = validateCreate(call.body);
  const raw = call.body as Fields;
  const seed = randomSeed();
  const id = responseId(seed);
  const createdAt = Date.now();

  const history = await loadHistory(store, scope, body.previous_response_id, limits.historyTurns);
  const input = await resolveReferences(store, scope, inputItems(raw.input, seed), history.items, note);
  const conversation = [...history.items, ...input];
  const given = clientTools(raw, history.previous?.resource);
  const offer = await offerTools(settings.toolsOf(call.request), clientToolNames(given), signal, note);
  const tools = planTools(given, offer, note);
  const started = startedResource({ id, createdAt: Math.floor(createdAt / 1000), body, tools });
  const previous = history.previous ? { previousId: history.previous.id } : {};

  const turn: Turn = {
    plan: planOf(seed, tools, offer, settings),
    // Strict Open Responses knows no item for them.
    lists: settings.mcpItems === 'mcp_call' ? newLists(offer, conversation) : new Map(),
    request: modelRequest(body, forModel(conversation, offer), tools),
    upstream,
    call: { signal, headers: passedHeaders(call), limits, note },
    limits: { ...limits, toolCalls: Math.min(limits.toolCalls, body.max_tool_calls ?? limits.toolCalls) },
    runCall: toolRunner(offer, call, settings, signal),
    beatMs: body.stream ? heartbeat.intervalMs : undefined,
    beatComments: heartbeat.style === 'comment',
    now: () => Math.floor(Date.now() / 1000),
    keep: async (end) => {
      if (body.store === false) return;
      await keepTurn({ scope, id, ...previous, createdAt, input }, endedResource(started, end), settings, requestId);
    },
  };
  const info = { requestId, responseId: id, scope, model: body.model, stream: body.stream === true };
  return { info, started, turn };
}

function planOf(seed: string, { allowed }: ToolPlan, offer: Offer, settings: CoreSettings): TurnPlan {
  const { reasoning, mcpItems, queuedEvent, limits } = settings;
  return {
    seed,
    reasoning: reasoning === 'summary' ? 'summary_text' : 'reasoning_text',
    ...(allowed ? { allowedTools: allowed } : {}),
    owners: ownersOf(offer),
    ownedAs: mcpItems,
    queuedEvent,
    outputBytes: limits.outputBytes,
    argumentBytes: limits.argumentBytes,
  };
}
