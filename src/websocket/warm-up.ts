/** The model server of a warm-up: it says nothing at once. */
import type { Upstream } from '../ports/upstream.ts';

/** Ends every turn without output, so that all that precedes a model call is done and kept. */
export const noModel: Upstream = {
  name: 'none',
  async *stream() {
    yield [{ type: 'finish', reason: 'stop' }];
  },
};
