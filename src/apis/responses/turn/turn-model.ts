/** The model of a turn: the upstream behind what reads, guards and shortens its calls, and the compaction at the turn's end. */

import { requestWeight } from '../../../engine/compaction/truncate.ts';
import { truncatingUpstream, weightThatFits } from '../../../engine/compaction/truncating-upstream.ts';
import { type CompactionRequest, turnCompaction } from '../../../engine/compaction/turn-compaction.ts';
import { guardedUpstream } from '../../../engine/guarding/guarded-upstream.ts';
import { reportedTokens } from '../../../engine/tokens/reported-tokens.ts';
import { holdsOutput, withFirstOutput } from '../../../engine/turn/first-output.ts';
import { callRefusal } from '../../../engine/turn/machine/call-permission.ts';
import type { TurnPlan } from '../../../engine/turn/machine/state.ts';
import type { Turn } from '../../../engine/turn/run-turn.ts';
import type { MaybePromise } from '../../../ports/store.ts';
import type { ModelRequest } from '../../../protocol/model-request.ts';
import { mapMaybePromise } from '../../../protocol/record.ts';
import type { PreparedRequest } from '../steps/request.ts';
import type { ResponsesApiSettings } from './settings.ts';

/** Characters that every model reads: a shorter conversation is sent without asking how long it may be. */
const ANY_CONTEXT = 8192;

/** `call` is the context of each model call of the turn. */
export function turnModel(
  prepared: PreparedRequest,
  plan: TurnPlan,
  call: Turn['call'],
  settings: ResponsesApiSettings,
): MaybePromise<Pick<Turn, 'upstream' | 'compaction'>> {
  const { request, body } = prepared;
  const isTruncated = body.truncation === 'auto';
  const dependsOnContext = isTruncated || Boolean(body.context_management?.length);
  const contextLength =
    dependsOnContext && requestWeight(request) >= ANY_CONTEXT
      ? settings.upstream.facts?.(request.model, call).contextLength
      : undefined;
  // The estimate: a limit that is too low would leave out what the model could have read.
  const { count } = settings.tokenCounting;
  const weight =
    isTruncated && contextLength !== undefined ? weightThatFits(request, contextLength, count, call.signal) : undefined;
  return mapMaybePromise(weight, (firstWeight) =>
    modelForContext({ contextLength, firstWeight }, prepared, plan, call, settings),
  );
}

function modelForContext(
  {
    contextLength,
    firstWeight,
  }: { readonly contextLength: number | undefined; readonly firstWeight: number | undefined },
  prepared: PreparedRequest,
  plan: TurnPlan,
  call: Turn['call'],
  settings: ResponsesApiSettings,
): Pick<Turn, 'upstream' | 'compaction'> {
  const { apiRequest, request, body, window, guards } = prepared;
  const { scope, requestId } = apiRequest;
  const reported = reportedTokens(settings.upstream, settings.tokenCounting);
  let { upstream } = reported;
  if (guards?.guardsOutput) upstream = guardedUpstream(upstream, guards, callsShownAtOnce(plan));
  // The summary of what was compacted stays: it stands for all that came before.
  const { summary } = window;
  if (body.truncation === 'auto') upstream = truncatingUpstream(upstream, (item) => item === summary, firstWeight);

  const wanted = compactionRequest(prepared, contextLength);
  const compaction =
    wanted &&
    turnCompaction(
      wanted,
      { request, items: window.items, scope, call, note: call.note },
      { ...settings, upstream, reportedInput: reported.mostInput },
    );
  const onStep = settings.hooks.recorder?.onStep;
  if (!onStep) return { upstream, compaction };
  const measured: Turn['upstream'] = {
    stream: (sent, context) => withFirstOutput(upstream.stream(sent, context), holdsOutput, requestId, onStep),
  };
  return { upstream: measured, compaction };
}

/** Whether the guards may show a call as soon as it begins: one that is refused, or that waits for approval, leaves the text before it open. */
function callsShownAtOnce(plan: TurnPlan): (request: ModelRequest) => (name: string) => boolean {
  return ({ toolChoice }) => {
    const answer = { isForced: typeof toolChoice === 'object', hasCall: false };
    return (name) => {
      if (callRefusal(plan, name, answer)) return false;
      answer.hasCall = true;
      return !plan.owners.get(name)?.needsApproval;
    };
  };
}

/** The threshold if a client requests compaction without one: below the context of most models. */
const DEFAULT_THRESHOLD = 100_000;
/** The part of a known context beyond which no threshold makes sense: the answer and the summary need room, too. */
const COMPACTED_SHARE = 0.8;

/** Undefined where the client wants none. */
function compactionRequest(
  { body, input }: PreparedRequest,
  contextLength = Number.POSITIVE_INFINITY,
): CompactionRequest | undefined {
  const triggered = input.at(-1)?.type === 'compaction_trigger';
  if (!triggered && !body.context_management) return undefined;
  const thresholds = body.context_management?.map((entry) => entry.compact_threshold ?? DEFAULT_THRESHOLD) ?? [];
  const [least] = thresholds.toSorted((one, other) => one - other);
  const threshold = least === undefined ? undefined : Math.min(least, Math.floor(contextLength * COMPACTED_SHARE));
  return triggered || threshold !== undefined ? { triggered, threshold } : undefined;
}
