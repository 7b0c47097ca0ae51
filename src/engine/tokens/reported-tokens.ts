/** Watches what model servers report about the calls of one turn. */

import type { TokenCounting } from '../../ports/token-counter.ts';
import type { Upstream } from '../../ports/upstream.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import { type Mapping, mapStream } from '../../streams/pull-stream.ts';

/** The upstream for one turn, and the most input tokens that one call of it had, 0 if none was reported. */
interface ReportedTokens {
  readonly upstream: Pick<Upstream, 'stream'>;
  readonly mostInput: () => number;
}

/** The same upstream, whose counts are learnt from. */
export function reportedTokens(upstream: Pick<Upstream, 'stream'>, { learner }: TokenCounting): ReportedTokens {
  let most = 0;
  return {
    mostInput: () => most,
    upstream: {
      stream(request, call) {
        let learn = learner(request);
        const report = (input: number) => {
          most = Math.max(most, input);
          if (input > 0) learn?.(input);
          // Releases the request with the first count: a server may report more than one.
          if (input > 0) learn = undefined;
        };
        return mapStream(upstream.stream(request, call), new Watching(report));
      },
    },
  };
}

class Watching implements Mapping<readonly ModelEvent[], readonly ModelEvent[]> {
  private readonly report: (input: number) => void;

  constructor(report: (input: number) => void) {
    this.report = report;
  }

  map(batch: readonly ModelEvent[]): readonly ModelEvent[] {
    for (const event of batch) if (event.type === 'usage') this.report(event.usage.input_tokens);
    return batch;
  }
}
