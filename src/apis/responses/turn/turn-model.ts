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
import type { ModelRequest } from '../../../protocol/model-request.ts';
import type { PreparedRequest } from '../steps/request.ts';
import type { ResponsesApiSettings } from './settings.ts';

/** Characters that every model reads: a shorter conversation is sent without asking how long it may be. */
const ANY_CONTEXT = 8192;

/** `call` is the context of each model call of the turn. */
export async function turnModel(
  prepared: PreparedRequest,
  plan: TurnPlan,
  call: Turn['call'],
  settings: ResponsesApiSettings,
): Promise<Pick<Turn, 'upstream' | 'compaction'>> {
  const { apiRequest, request, body, window, guards } = prepared;
  const { scope, requestId } = apiRequest;
  const reported = reportedTokens(settings.upstream, settings.tokenCounting);
  const guarded = guards?.guardsOutput
    ? guardedUpstream(reported.upstream, guards, callsShownAtOnce(plan))
    : reported.upstream;

  const dependsOnContext = body.truncation === 'auto' || Boolean(body.context_management?.length);
  const contextLength =
    dependsOnContext && requestWeight(request) >= ANY_CONTEXT
      ? settings.upstream.facts?.(request.model, call).contextLength
      : undefined;
  let upstream = guarded;
  if (body.truncation === 'auto') {
    // The estimate: a limit that is too low would leave out what the model could have read.
    const { count } = settings.tokenCounting;
    const weight =
      contextLength === undefined ? undefined : await weightThatFits(request, contextLength, count, call.signal);
    // The summary of what was compacted stays: it stands for all that came before.
    const { summary } = window;
    upstream = truncatingUpstream(guarded, (item) => item === summary, weight);
  }

  const compaction = turnCompaction(
    compactionRequest(prepared, contextLength),
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

function compactionRequest(
  { body, input }: PreparedRequest,
  contextLength = Number.POSITIVE_INFINITY,
): CompactionRequest {
  const thresholds = body.context_management?.map((entry) => entry.compact_threshold ?? DEFAULT_THRESHOLD) ?? [];
  const [least] = thresholds.toSorted((one, other) => one - other);
  const threshold = least === undefined ? undefined : Math.min(least, Math.floor(contextLength * COMPACTED_SHARE));
  return { triggered: input.at(-1)?.type === 'compaction_trigger', threshold };
}
