/** Takes a request from its tenant's budget, and counts the model calls that it makes. */
import { type Budget, type BudgetedTurn, guardedTurn, type ModelCallUsage } from '../../ports/budget.ts';
import { limitScope } from '../../ports/scope.ts';
import type { MaybePromise } from '../../ports/store.ts';
import type { TokenCounter } from '../../ports/token-counter.ts';
import type { ChatBatch, Upstream } from '../../ports/upstream.ts';
import { wrapUpstream } from '../../ports/wrap-upstream.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import { objectIn } from '../../protocol/json/json-text.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { bodyText, type ReadingEnd, untilRead } from '../../streams/bytes.ts';
import { mapStream } from '../../streams/pull-stream.ts';
import type { EndpointRequest } from '../request/endpoint-request.ts';
import { CallMeter } from './call-meter.ts';

/** The settings of an API whose requests may have a budget. */
export interface BudgetSettings {
  readonly upstream: Upstream;
  readonly budget?: Budget | undefined;
  readonly countTokens: TokenCounter;
  /** Whether the upstream's calls are counted, so that it must report usage. */
  readonly isMetered?: boolean | undefined;
}

/** What shows when a turn is over. */
interface BudgetedLife {
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
export function withBudget<Settings extends BudgetSettings>(
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
  return beginCounting(request.scope, settings, { life, taken: before, isResumed });
}

/** A request before its turn. */
interface Beginning {
  readonly life: BudgetedLife;
  /** From which budgets it was taken. */
  readonly taken: ReadonlyMap<Budget, BudgetedTurn>;
  readonly isResumed: boolean;
}

async function beginCounting<Settings extends BudgetSettings>(
  scope: string,
  settings: Settings,
  { life, taken, isResumed }: Beginning,
): Promise<Budgeted<Settings>> {
  const { budget, upstream, countTokens } = settings;
  const tenant = limitScope(scope);
  const needed = budget && !taken.has(budget) ? budget : undefined;
  const admittance = await (isResumed ? needed?.resume(tenant) : admit(needed, tenant, taken));
  const own = admittance && guardedTurn(admittance);
  const turns = new CountedTurns(own ? [...taken.values(), own] : [...taken.values()]);
  life.whenOver(() => turns.over());
  const metered = { upstream: meteredUpstream(upstream, turns, countTokens), isMetered: true };
  return { settings: { ...settings, ...metered }, headers: own?.headers };
}

/** Takes the request from the router's own budget; where that is refused, those of the middlewares are over. */
async function admit(
  budget: Budget | undefined,
  tenant: string,
  taken: ReadonlyMap<Budget, BudgetedTurn>,
): Promise<BudgetedTurn | undefined> {
  try {
    return await budget?.admit(tenant);
  } catch (refusal) {
    for (const turn of taken.values()) turn.end?.();
    throw refusal;
  }
}

/** The turns of one request, one for each budget: they end when it is over and all of its calls are counted. */
class CountedTurns implements Pick<BudgetedTurn, 'count'> {
  private readonly turns: readonly BudgetedTurn[];
  private open = 0;
  private isOver = false;

  constructor(turns: readonly BudgetedTurn[]) {
    this.turns = turns;
  }

  count(call: ModelCallUsage): void {
    for (const turn of this.turns) turn.count(call);
  }

  /** A call of the model begins. */
  begin(): void {
    this.open += 1;
  }

  /** It has ended; it may still be estimated. */
  async ended(counted: Promise<void> | undefined): Promise<void> {
    if (counted) await counted;
    this.open -= 1;
    this.end();
  }

  /** The request is over; a call of it that is cut off may end later. */
  over(): void {
    this.isOver = true;
    this.end();
  }

  private end(): void {
    if (this.isOver && this.open === 0) for (const turn of this.turns) turn.end?.();
  }
}

function meteredUpstream(upstream: Upstream, turns: CountedTurns, countTokens: TokenCounter): Upstream {
  const { chat, messages, pass } = upstream;
  const newMeter = (input: JsonObject) => new CallMeter(turns, countTokens, { model: String(input.model), input });
  return wrapUpstream(upstream, {
    stream(request, call) {
      const meter = newMeter({ ...request });
      const take = (events: readonly ModelEvent[]) => meter.takeEvents(events);
      return countedStream(upstream.stream(request, call), { meter, turns, signal: call.signal, take });
    },
    chat: chat && countedBatches(chat.bind(upstream), newMeter, turns),
    messages: messages && countedBatches(messages.bind(upstream), newMeter, turns),
    pass: pass && countedAnswers(pass.bind(upstream), newMeter, turns),
  });
}

/** The same for whole answers that are passed on, such as embeddings. */
function countedAnswers(
  send: NonNullable<Upstream['pass']>,
  newMeter: (input: JsonObject) => CallMeter,
  turns: CountedTurns,
): typeof send {
  return async (request, call) => {
    const { body } = request;
    const fields = body instanceof Uint8Array ? objectIn(Buffer.from(body).toString('utf8')) : undefined;
    const meter = newMeter({ ...fields, model: request.readModel() });
    turns.begin();
    const answer = await send(request, call).catch(async (error: unknown) => {
      await turns.ended(meter.end(call.signal.aborted));
      throw error;
    });
    // The model server has accepted the request.
    meter.takeEvents([]);
    const pieces: Uint8Array[] = [];
    const ended = (end: ReadingEnd) => {
      if (end === 'done') meter.takeData([bodyText(pieces)], true);
      void turns.ended(meter.end(call.signal.aborted));
    };
    return { ...answer, body: untilRead(answer.body, ended, (piece) => void pieces.push(piece)) };
  };
}

/** The same for calls that pass on the bodies and events of an API. */
function countedBatches(
  send: NonNullable<Upstream['chat']>,
  newMeter: (input: JsonObject) => CallMeter,
  turns: CountedTurns,
): typeof send {
  return (body, call) => {
    const meter = newMeter(body);
    const take = ({ data, whole, server }: ChatBatch) => meter.takeData(data, whole, server);
    return countedStream(send(body, call), { meter, turns, signal: call.signal, take });
  };
}

/** One call that is counted. */
interface CountedCall<Batch> {
  readonly meter: CallMeter;
  readonly turns: CountedTurns;
  readonly signal: AbortSignal;
  readonly take: (batch: Batch) => void;
}

/** The same stream; the call is counted when it ends for any reason. */
function countedStream<Batch>(
  stream: AsyncIterable<Batch>,
  { meter, turns, signal, take }: CountedCall<Batch>,
): AsyncIterable<Batch> {
  let isOpen: boolean | undefined;
  return mapStream(stream, {
    shouldContinue() {
      if (isOpen === undefined) turns.begin();
      isOpen = true;
      return true;
    },
    map(batch) {
      take(batch);
      return batch;
    },
    closed() {
      if (isOpen) void turns.ended(meter.end(signal.aborted));
      isOpen = false;
    },
  });
}
