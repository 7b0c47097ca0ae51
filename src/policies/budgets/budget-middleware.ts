/** The budget as a middleware in front of any handler: it reads the usage in the handler's own answer. */
import type { ServerResponse } from 'node:http';
import { CallMeter } from '../../engine/metering/call-meter.ts';
import {
  answerClientError,
  type NodeMiddleware,
  originalUrl,
  requestApi,
} from '../../hosts/middleware/as-middleware.ts';
import { watchAnswer } from '../../hosts/node/answer-watch.ts';
import { type AnswerHead, chunkToBytes, type Layer, onHead } from '../../hosts/node/event-stream.ts';
import { requestBody } from '../../hosts/node/node-body.ts';
import {
  isClosed,
  type NodeRequest,
  onClose,
  type ScopeOf,
  setTurnContext,
  toEndpointRequest,
  turnContext,
} from '../../hosts/node/node-request.ts';
import type { Budget, BudgetedTurn } from '../../ports/budget.ts';
import { DEFAULT_LIMITS } from '../../ports/limits.ts';
import { limitScope } from '../../ports/scope.ts';
import type { TokenCounter } from '../../ports/token-counter.ts';
import { isRecord } from '../../protocol/record.ts';

/** What the middleware needs of the options. */
interface BudgetMiddlewareSettings {
  readonly scope: ScopeOf<NodeRequest> | undefined;
  readonly countTokens: TokenCounter;
}

const WITHOUT_BODY: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE']);
/** What is listed, read or deleted without a model: stored things and the list of models. */
const STORED =
  /\/(?:models|files|vector_stores|conversations)(?:\/|$)|\/(?:responses|chat\/completions|batches)\/[^/]+(?:\/[^/]+)?\/?$/;

/** How a request counts. */
type CountingTime = 'never' | 'once a model has answered' | 'at once';

/**
 * Proxies may call the model whatever the method is. A page is read with GET, too, and browsers ask with OPTIONS first:
 * such a request counts if its answer is a model's.
 */
function countingTime(req: NodeRequest): CountingTime {
  const { method, headers } = req;
  const hasBody =
    Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined || isRecord(req.body);
  // Parsers set `{}` where there is no body.
  const isEmpty = isRecord(req.body) && Object.keys(req.body).length === 0;
  if (!WITHOUT_BODY.has(method) || (hasBody && !isEmpty)) return 'at once';
  const [path = ''] = (originalUrl(req) ?? '').split(/[?#]/, 1);
  if (method !== 'OPTIONS' && STORED.test(path)) return 'never';
  const isPreflight = method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
  return method === 'GET' || isPreflight ? 'once a model has answered' : 'at once';
}

/** The middleware of this budget. */
export function budgetMiddleware(budget: () => Budget, settings: BudgetMiddlewareSettings): NodeMiddleware {
  return function tokenBudgetMiddleware(req, res, next) {
    const time = countingTime(req);
    const own = budget();
    // It may stand in front of all paths and of one of them: a request counts once.
    if (time === 'never' || turnContext(res).budgets?.has(own)) return next();
    beginTurn(req, res, own, { ...settings, onlyIfModel: time !== 'at once' }).then(
      () => next(),
      (error) => answerClientError(error, req, res, next, { hooks: {} }),
    );
  };
}

async function beginTurn(
  req: NodeRequest,
  res: ServerResponse,
  budget: Budget,
  { scope, countTokens, onlyIfModel }: BudgetMiddlewareSettings & { readonly onlyIfModel: boolean },
): Promise<void> {
  const request = toEndpointRequest(req, res, scope);
  const turn = await budget.admit(limitScope(request.scope), onlyIfModel);
  const context = turnContext(res);
  const budgets = (context.budgets ?? new Map<Budget, BudgetedTurn>()).set(budget, turn);
  let charge: (isComplete: boolean) => Promise<void> | undefined = () => undefined;
  let hasEnded = false;
  const end = () => {
    if (hasEnded) return;
    hasEnded = true;
    const pendingCount = charge(res.writableFinished);
    // A router of this package ends the turn itself, which may go on in the background.
    if (budgets.has(budget)) setImmediate(() => void Promise.resolve(pendingCount).then(() => turn.end?.()));
  };
  // The client may have left while the budget was asked.
  if (isClosed(res)) end();
  else {
    onClose(res, end);
    // Adapters of platforms make responses that are never closed.
    res.once('finish', end);
  }
  // After the check, so that the body of a refused request is not read.
  const body = await requestBody(req, DEFAULT_LIMITS, scope);
  if (!res.headersSent) for (const [name, value] of Object.entries(turn.headers)) res.setHeader(name, value);
  // Otherwise a client could choose an encoding in which its usage cannot be read.
  delete req.headers['accept-encoding'];
  setTurnContext(res, { ...context, requestId: request.requestId, budgets });
  const input = isRecord(body) ? body : {};
  const model = typeof input.model === 'string' ? input.model : 'unknown';
  const meter = new CallMeter(turn, countTokens, { model, input });
  const isKnown = requestApi(req, body, { api: undefined }) !== undefined;
  // A router of this package with the same budget counts each of its model calls itself.
  charge = chargeAnswer(res, meter, { isKnown, onlyIfModel, isOurs: () => budgets.has(budget) });
}

/** Whether the request is one of the two APIs', whether only a model's answer counts, and whether the turn is counted here. */
interface Counting {
  readonly isKnown: boolean;
  readonly onlyIfModel: boolean;
  readonly isOurs: () => boolean;
}

/** Speech and pictures are no text, whose tokens could be estimated by its bytes: what they cost is what the model has read. */
const MEDIA = /^(?:audio|image|video)\//i;

/** Returns what ends the count once the answer is over, and shows whether an estimate is still to be counted. */
function chargeAnswer(
  res: ServerResponse,
  meter: CallMeter,
  { isKnown, onlyIfModel, isOurs }: Counting,
): (isComplete: boolean) => Promise<void> | undefined {
  let reader: ReturnType<typeof readAnswer> | undefined;
  let isOver = false;
  let isMedia = false;
  let pendingCount: Promise<void> | undefined;
  const finish = (isComplete: boolean) => {
    if (isOver || !isOurs()) return;
    isOver = true;
    void reader?.settle();
    // Such as the answer of another API, for which no model was called.
    if (onlyIfModel ? !meter.isModels : !(meter.hasRead || isMedia) && (isComplete || !isKnown)) return;
    pendingCount = meter.end(!isComplete);
  };
  onHead(res, (head, layer) => {
    // A refusal costs nothing.
    if (head.status >= 300) isOver = true;
    isMedia = MEDIA.test(head.type);
    if (isMedia) meter.takeEvents([]);
    else if (!isOver) reader = readAnswer(head, layer, meter, () => finish(true));
  });
  return (isComplete) => {
    finish(isComplete);
    return pendingCount;
  };
}

/** Reads what is written into the layer from now on, and passes it on. */
function readAnswer(head: AnswerHead, layer: Layer, meter: CallMeter, onEnd: () => void) {
  const whole = (text: string) => meter.takeData([text], true);
  const ends = (start: string, end: string) => meter.takeEnds(start, end);
  const event = (data: string) => {
    meter.takeData([data], false);
    return false;
  };
  let size = 0;
  // The tokens of an answer in an encoding, or of another type, are estimated by its bytes.
  const byteEstimate = {
    take(bytes: Uint8Array): void {
      size += bytes.byteLength;
      if (size > DEFAULT_LIMITS.outputBytes) return;
      meter.takeEvents([{ type: 'text-delta', text: Buffer.from(bytes).toString('latin1') }]);
    },
    async settle() {},
  };
  const watch = watchAnswer(head, { event, whole, ends }, DEFAULT_LIMITS, async () => {}) ?? byteEstimate;
  const { write, end } = layer;
  // The casts: the overloads of both are passed on unchanged.
  layer.write = function countedWrite(...args: unknown[]) {
    watch.take(chunkToBytes(args));
    return write(...(args as Parameters<typeof write>));
  } as typeof write;
  layer.end = function countedEnd(...args: unknown[]) {
    watch.take(chunkToBytes(args));
    onEnd();
    return end(...(args as unknown as Parameters<typeof end>));
  } as typeof end;
  return watch;
}
