/** Calibrates estimates of tokens, per model, by what the model server has counted. */

import type { TokenCounter, TokenCounting } from '../../ports/token-counter.ts';
import { leastBytes } from '../../protocol/json/json-size.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';

/** Models that are known at a time; the one that was used longest ago goes first. */
const MAX_MODELS = 64;
/** A request that is longer is not kept until it is counted. */
const MAX_SAMPLE_CHARACTERS = 200_000;
/** A request of fewer bytes is kept for that time: to hold it weakly takes as much memory as it has itself. */
const MIN_WEAK_BYTES = 4096;
/** How much of what was learnt before is left after another sample. */
const MEMORY = 0.8;
/** A tokenizer and a template beyond that are none; a broken count must not make estimates useless. */
const MIN_RATIO = 0.25;
const MAX_RATIO = 8;
/** A ratio holds for requests up to so many times as long as those it was learnt from: a short one is mostly template. */
const REACH = 4;

/** Sums over samples, each weighed by its length, since the longest say most about a tokenizer. */
interface Learnt {
  /** A request that the model server has counted, and nobody has estimated yet. */
  sample: { readonly request: ModelRequest; readonly reported: number } | undefined;
  estimated: number;
  estimatedSquares: number;
  products: number;
}

/** The counter with estimates corrected by what was learnt. Requests are estimated only when somebody counts. */
export function calibratedCounter(estimate: TokenCounter): TokenCounting {
  const models = new Map<string, Learnt>();

  function learn(request: ModelRequest, reported: number): void {
    const { model } = request;
    const learnt = models.get(model) ?? { sample: undefined, estimated: 0, estimatedSquares: 0, products: 0 };
    learnt.sample = { request, reported };
    models.delete(model);
    models.set(model, learnt);
    if (models.size <= MAX_MODELS) return;
    const [oldest] = models.keys();
    if (oldest !== undefined) models.delete(oldest);
  }

  async function counts(request: ModelRequest, signal: AbortSignal): Promise<readonly [number, number]> {
    const learnt = models.get(request.model);
    const { sample } = learnt ?? {};
    if (learnt && sample) {
      learnt.sample = undefined;
      addSample(learnt, await estimate(sample.request, signal), sample.reported);
    }
    const tokens = await estimate(request, signal);
    return [tokens, learnt ? corrected(tokens, learnt) : tokens];
  }

  /** A function of its own: closures made in one call share what they hold, and that of `learner` holds the request. */
  function weakLearner(request: ModelRequest): (reported: number) => void {
    // A history may be freed while the model answers, and then nothing is learnt from it.
    const sample = new WeakRef(request);
    return (reported) => {
      const counted = sample.deref();
      if (counted) learn(counted, reported);
    };
  }

  return {
    count: async (request, signal) => (await counts(request, signal))[1],
    upperCount: async (request, signal) => Math.max(...(await counts(request, signal))),
    learner(request) {
      const { instructions = '', items, tools } = request;
      const byteBudget = MAX_SAMPLE_CHARACTERS - instructions.length;
      if (byteBudget <= 0) return undefined;
      const bytes = leastBytes([items, tools], byteBudget);
      if (bytes > byteBudget) return undefined;
      if (bytes + instructions.length < MIN_WEAK_BYTES) return (reported) => learn(request, reported);
      return weakLearner(request);
    },
    isHosts: false,
  };
}

function addSample(learnt: Learnt, estimated: number, reported: number): void {
  if (!(estimated > 0)) return;
  learnt.estimated = learnt.estimated * MEMORY + estimated;
  learnt.estimatedSquares = learnt.estimatedSquares * MEMORY + estimated * estimated;
  learnt.products = learnt.products * MEMORY + estimated * reported;
}

function corrected(tokens: number, { estimated, estimatedSquares, products }: Learnt): number {
  if (estimated === 0) return tokens;
  const ratio = Math.min(MAX_RATIO, Math.max(MIN_RATIO, products / estimatedSquares));
  const reach = (REACH * estimatedSquares) / estimated;
  return Math.ceil(tokens + (ratio - 1) * Math.min(tokens, reach));
}
