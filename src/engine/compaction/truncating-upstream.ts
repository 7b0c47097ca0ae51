/** A model server for requests with `truncation: "auto"`: what is too long for the model's context is asked once more, without its oldest turns. */

import type { TokenCounter } from '../../ports/token-counter.ts';
import type { Upstream } from '../../ports/upstream.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { Item } from '../../protocol/items.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import type { Note } from '../../protocol/note.ts';
import { CONTEXT_OVERFLOW } from '../../protocol/upstream-errors/context-overflow.ts';
import { secondTry } from '../../streams/second-try.ts';
import { requestWeight, type Truncated, truncateRequest } from './truncate.ts';

/**
 * The calls of one turn. The first is shortened to `firstWeight`, if the model's context is known to hold no more; a later
 * round is shortened at once to what an earlier one had to be.
 */
export function truncatingUpstream(
  upstream: Pick<Upstream, 'stream'>,
  isPinned: (item: Item) => boolean,
  firstWeight = Number.POSITIVE_INFINITY,
): Pick<Upstream, 'stream'> {
  let maxWeight = firstWeight;

  function shortened(request: ModelRequest, note: (note: Note) => void): ModelRequest | undefined {
    const shorter = truncateRequest(request, maxWeight, isPinned);
    if (!shorter) return undefined;
    note({ code: 'history_truncated', message: lossText(shorter) });
    return { ...request, items: shorter.items };
  }

  return {
    stream(request, call) {
      const first = shortened(request, call.note) ?? request;
      return secondTry(upstream.stream(first, call), (error) => {
        if (!(error instanceof ApiError) || error.code !== CONTEXT_OVERFLOW) return undefined;
        maxWeight = requestWeight(first) * shareThatFits(error.message);
        const shorter = shortened(first, call.note);
        return shorter && upstream.stream(shorter, call);
      });
    },
  };
}

/** The least tokens that are left free for an answer without a limit; a short context leaves a quarter. */
const DEFAULT_ANSWER_TOKENS = 1024;
const MAX_ANSWER_SHARE = 0.25;

/**
 * The weight of a request like this one that fills a context of so many tokens, an answer aside: some servers leave out
 * the beginning of what is longer, without a word.
 */
export async function weightThatFits(
  request: ModelRequest,
  contextLength: number,
  countTokens: TokenCounter,
  signal: AbortSignal,
): Promise<number> {
  const { maxOutputTokens = DEFAULT_ANSWER_TOKENS } = request;
  const maxInput = contextLength - Math.min(maxOutputTokens, contextLength * MAX_ANSWER_SHARE);
  const tokens = await countTokens(request, signal);
  return tokens > 0 ? (requestWeight(request) * maxInput) / tokens : Number.POSITIVE_INFINITY;
}

function lossText({ turns, rounds }: Truncated): string {
  const what = [
    ...(turns > 0 ? [turns === 1 ? 'the oldest turn' : `the ${turns} oldest turns`] : []),
    ...(rounds > 0 ? [rounds === 1 ? 'the oldest round of tools' : `the ${rounds} oldest rounds of tools`] : []),
  ];
  return `The conversation is longer than the model's context: ${what.join(' and ')} of it are not sent (truncation: auto).`;
}

/** What the error says nothing about is halved; what it says is trusted with a reserve, since turns differ in tokens. */
const UNKNOWN_SHARE = 0.5;
const RESERVE = 0.9;
const MIN_SHARE = 0.05;

/** Numbers below are no token counts; words and version numbers are not read. */
const MIN_COUNT = 100;
const MAX_MESSAGE_CHARACTERS = 2000;

/** The part of the conversation that fits, by the two greatest numbers that a server names: what was sent, and its limit. */
export function shareThatFits(message: string): number {
  const words = message.slice(0, MAX_MESSAGE_CHARACTERS).split(/[^\w,.-]+/);
  const numbers = words.flatMap((word) => {
    const digits = word.replace(/[,_]/g, '').replace(/\.$/, '');
    return /^\d{3,9}$/.test(digits) ? [Number(digits)] : [];
  });
  const [sent, limit] = [...new Set(numbers)].filter((count) => count >= MIN_COUNT).sort((one, other) => other - one);
  if (sent === undefined || limit === undefined) return UNKNOWN_SHARE;
  return Math.max(MIN_SHARE, (limit / sent) * RESERVE);
}
