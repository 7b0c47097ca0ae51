/** Takes a request from its tenant's budget, and counts the model calls that it makes. */
import type { Budget, BudgetedTurn } from '../ports/budget.ts';
import type { EndpointRequest } from '../ports/endpoints/endpoint-request.ts';
import { shareOf } from '../ports/scope.ts';
import type { MaybePromise } from '../ports/store.ts';
import type { TokenCounter } from '../ports/token-counter.ts';
import type { Upstream } from '../ports/upstream.ts';
import type { JsonObject } from '../protocol/record.ts';
import { mapped } from '../streams/pull-stream.ts';
import { CallMeter } from './call-meter.ts';

/** The settings of an API whose requests may have a budget. */
export interface BudgetSettings {
  readonly upstream: Upstream;
  readonly budget?: Budget | undefined;
  readonly countTokens: TokenCounter;
  /** Whether the upstream's calls are counted, so that it must report usage. */
  readonly isMetered?: boolean | undefined;
}

/** What tells when a turn is over. */
export interface BudgetedLife {
  /** Runs the function then. */
  readonly whenOver: (run: () => void) => void;
}

/** Settings whose model calls are counted, and headers with the rest of the budget for the client. */
export interface Budgeted<Settings> {
  readonly settings: Settings;
  readonly headers?: BudgetedTurn['headers'] | undefined;
}

/**
 * The settings for this request, without a promise if nothing is counted. The request is charged to the router's budget unless a
 * middleware has done so, or another process did (`isResumed`). Rejects with an `ApiError` if the budget is used up.
 */
export function budgeted<Settings extends BudgetSettings>(
  request: Pick<EndpointRequest, 'scope' | 'context'>,
  settings: Settings,
  life: BudgetedLife,
  isResumed = false,
): MaybePromise<Budgeted<Settings>> {
  const taken = request.context?.budgets;
  if (!settings.budget && !taken?.size) return { settings };
  const before = new Map(taken);
  // From here on each model call is counted, not the answer.
  taken?.clear();
  for (const turn of before.values()) life.whenOver(() => turn.end?.());
  return counting(request.scope, settings, { life, taken: before, isResumed });
}

/** A request before its turn. */
interface Beginning {
  readonly life: BudgetedLife;
  /** From which budgets it was taken. */
  readonly taken: ReadonlyMap<Budget, BudgetedTurn>;
  readonly isResumed: boolean;
}

async function counting<Settings extends BudgetSettings>(
  scope: string,
  settings: Settings,
  { life, taken, isResumed }: Beginning,
): Promise<Budgeted<Settings>> {
  const { budget, upstream, countTokens } = settings;
  const tenant = shareOf(scope);
  const needed = budget && !taken.has(budget) ? budget : undefined;
  const own = await (isResumed ? needed?.resume(tenant) : needed?.admit(tenant));
  if (own) life.whenOver(() => own.end?.());
  const turns = own ? [...taken.values(), own] : [...taken.values()];
  const count: BudgetedTurn['count'] = (call) => {
    for (const turn of turns) turn.count(call);
  };
  const counted = { upstream: metered(upstream, { count }, countTokens), isMetered: true };
  return { settings: { ...settings, ...counted }, headers: own?.headers };
}

type Counter = Pick<BudgetedTurn, 'count'>;

function metered(upstream: Upstream, counter: Counter, countTokens: TokenCounter): Upstream {
  const { chat, messages, speaksMessages: has, redact } = upstream;
  const meterOf = (input: JsonObject) => new CallMeter(counter, countTokens, { model: String(input.model), input });
  return {
    name: upstream.name,
    stateOwner: upstream.stateOwner,
    origin: upstream.origin,
    stream(request, call) {
      const meter = meterOf({ ...request });
      return counted(upstream.stream(request, call), meter, call.signal, (events) => meter.takeEvents(events));
    },
    ...(chat ? { chat: countedBatches(chat.bind(upstream), meterOf) } : {}),
    ...(messages ? { messages: countedBatches(messages.bind(upstream), meterOf) } : {}),
    ...(has ? { speaksMessages: (model) => has.call(upstream, model) } : {}),
    ...(redact ? { redact: (error, call) => redact.call(upstream, error, call) } : {}),
  };
}

/** The same for calls that pass on the bodies and events of an API. */
function countedBatches(ask: NonNullable<Upstream['chat']>, meterOf: (input: JsonObject) => CallMeter): typeof ask {
  return (body, call) => {
    const meter = meterOf(body);
    return counted(ask(body, call), meter, call.signal, ({ data, whole }) => meter.takeData(data, whole));
  };
}

/** The same stream; the call is counted when it ends for any reason. */
function counted<Batch>(
  stream: AsyncIterable<Batch>,
  meter: CallMeter,
  signal: AbortSignal,
  take: (batch: Batch) => void,
): AsyncIterable<Batch> {
  let isAsked = false;
  return mapped(stream, {
    goesOn() {
      isAsked = true;
      return true;
    },
    map(batch) {
      take(batch);
      return batch;
    },
    closed: () => isAsked && meter.end(signal.aborted),
  });
}
