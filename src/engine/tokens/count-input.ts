/** Counts the input of a request that a client asks about. */

import { checkTokens, type TokenCounting } from '../../ports/token-counter.ts';
import type { Upstream, UpstreamCall } from '../../ports/upstream.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';

/** The tokens as the host's own counter counts them, else as the model server does, else estimated. Rejects with the signal's reason. */
export async function countInput(
  request: ModelRequest,
  call: UpstreamCall,
  { upstream, tokenCounting }: { readonly upstream: Upstream; readonly tokenCounting: TokenCounting },
): Promise<number> {
  const { count, isHosts } = tokenCounting;
  let tokens: number | undefined;
  try {
    if (!isHosts) tokens = await upstream.countTokens?.(request, call);
  } catch (error) {
    call.signal.throwIfAborted();
    // A server that cannot count this request may still answer it, so its failure is none.
    if (!(error instanceof ApiError)) throw error;
  }
  return tokens === undefined ? count(request, call.signal) : checkTokens('upstream.countTokens', tokens);
}
