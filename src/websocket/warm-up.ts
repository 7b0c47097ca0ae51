/** The upstream of a warm-up: it ends at once without output. */
import type { Upstream } from '../ports/upstream.ts';

/** Ends every turn without output, so that everything before a model call is done and stored. */
export const noModel: Upstream = {
  name: 'none',
  async *stream() {
    yield [{ type: 'finish', reason: 'stop' }];
  },
};
