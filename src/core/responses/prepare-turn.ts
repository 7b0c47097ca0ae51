/** Everything that happens to a request before the model is asked: check, find history, settle tools, translate. */
import type { Call } from '../call.ts';
import { type RequestInfo, tell } from '../hooks.ts';
import { randomSeed, responseId } from '../ids.ts';
import type { Note } from '../note.ts';
import type { CoreSettings } from '../options.ts';
import { loadHistory, resolveReferences } from '../prepare/history.ts';
import { validateCreate } from '../prepare/validate.ts';
import { keepTurn } from '../turn/keep.ts';
import type { TurnPlan } from '../turn/machine.ts';
import type { Turn } from '../turn/run-turn.ts';
import { inputItems, modelRequest, planTools, type ToolPlan } from './parse.ts';
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
  const tools = planTools(raw, history.previous?.resource, note);
  const started = startedResource({ id, createdAt: Math.floor(createdAt / 1000), body, tools });
  const previous = history.previous ? { previousId: history.previous.id } : {};

  const turn: Turn = {
    plan: planOf(seed, tools, settings),
    request: modelRequest(body, [...history.items, ...input], tools),
    upstream,
    call: { signal, headers: passedHeaders(call), limits, note },
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

function planOf(seed: string, { allowed }: ToolPlan, { reasoning, queuedEvent, limits }: CoreSettings): TurnPlan {
  return {
    seed,
    reasoning: reasoning === 'summary' ? 'summary_text' : 'reasoning_text',
    ...(allowed ? { allowedTools: allowed } : {}),
    queuedEvent,
    outputBytes: limits.outputBytes,
    argumentBytes: limits.argumentBytes,
  };
}

/** The client's headers, with the request's id whether the client or we chose it. */
function passedHeaders({ headers, requestId }: Call): Headers {
  const passed = new Headers(headers);
  passed.set('x-request-id', requestId);
  return passed;
}
