/** Requests the summary of a conversation from the model, and seals it. */

import type { Limits } from '../../ports/limits.ts';
import type { Upstream, UpstreamCall } from '../../ports/upstream.ts';
import { ApiError, outputTooLarge } from '../../protocol/errors.ts';
import { type FinishReason, NO_USAGE, type Usage } from '../../protocol/events.ts';
import type { Item } from '../../protocol/items.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import { streamUntilAborted } from '../../streams/until-aborted-stream.ts';
import { requireFinish } from '../turn/tool-loop.ts';
import type { CompactionSettings } from './settings.ts';
import { toTranscript } from './transcript.ts';
import { pendingStart } from './window.ts';

/** The conversation to compact, its tenant, and the model call for it. */
export interface CompactionPlan {
  /** The settings of the model call; its items and tools are ignored. */
  readonly request: ModelRequest;
  /** The conversation as the model receives it. */
  readonly items: readonly Item[];
  /** How many items before the compaction item the model still receives. */
  readonly retained: number;
  readonly scope: string;
  readonly call: UpstreamCall;
}

/** A sealed summary, and its token usage. */
export interface Summarised {
  readonly encrypted: string;
  readonly usage: Usage;
  readonly cost?: number | undefined;
}

/** The dependencies of a summary. */
export interface SummarySettings {
  readonly upstream: Pick<Upstream, 'stream'>;
  readonly compaction: CompactionSettings;
  readonly limits: Limits;
}

/**
 * Yields once, when the model has begun to answer, and returns the summary. Throws as the upstream does, and
 * `upstream_error` or `output_too_large` if the model writes nothing or too much.
 */
export async function* summarise(plan: CompactionPlan, settings: SummarySettings): AsyncGenerator<void, Summarised> {
  const { items, retained, scope, call } = plan;
  const { upstream, compaction, limits } = settings;
  const start = pendingStart(items);
  const request = summaryRequest(plan.request, items.slice(0, start), compaction.prompt);
  let summary = '';
  let used: Pick<Summarised, 'usage' | 'cost'> = { usage: NO_USAGE };
  let begun = false;
  let finish: FinishReason | undefined;
  for await (const batch of streamUntilAborted(upstream.stream(request, call), call.signal)) {
    if (!begun) yield;
    begun = true;
    for (const event of batch) {
      if (event.type === 'text-delta') summary += event.text;
      else if (event.type === 'usage') used = event;
      else if (event.type === 'finish') finish = event.reason;
    }
    if (summary.length > limits.outputBytes) throw outputTooLarge('a summary');
  }
  requireFinish({ finish });
  if (summary.trim() === '') throw new ApiError('upstream_error', 'The model wrote no summary of the conversation.');
  const kept = items.slice(start);
  return {
    encrypted: compaction.seal.close({ summary: summary.trim(), retained, kept }, scope),
    usage: used.usage,
    cost: used.cost,
  };
}

/** The summary alone, for callers that send no heartbeats meanwhile. */
export async function collectSummary(plan: CompactionPlan, settings: SummarySettings): Promise<Summarised> {
  const summarising = summarise(plan, settings);
  for (;;) {
    const step = await summarising.next();
    if (step.done) return step.value;
  }
}

/** Only the settings that identify the user and the model: the output format is the turn's, not the summary's. */
function summaryRequest(original: ModelRequest, items: readonly Item[], prompt: string): ModelRequest {
  const { model, instructions, serviceTier, safetyIdentifier, user, moderation } = original;
  const { promptCacheKey, promptCacheOptions, promptCacheRetention } = original;
  const cache = { promptCacheKey, promptCacheOptions, promptCacheRetention };
  const all = { instructions, serviceTier, safetyIdentifier, ...cache, user, moderation };
  const settings = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  const question: Item = { type: 'message', role: 'user', content: [{ type: 'input_text', text: prompt }] };
  return { ...settings, model, items: [...toTranscript(items), question], tools: [] };
}
