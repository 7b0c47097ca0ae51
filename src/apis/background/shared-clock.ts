/** Compares this process's clock with the store's: responses in the background have times that other processes read by theirs. */
import { fromStore, type ResponseStore } from '../../ports/store.ts';
import { ApiError } from '../../protocol/errors.ts';

/** How far the clocks may be apart, and how long a comparison holds, in milliseconds. */
const MAX_APART_MS = 30_000;
const HOLDS_MS = 60_000;

/** The clock of the store, where it has one. */
export class SharedClock {
  private readonly store: ResponseStore;
  /** By a clock that is never set. */
  private rightUntil = Number.NEGATIVE_INFINITY;

  constructor(store: ResponseStore) {
    this.store = store;
  }

  /** Throws `store_error` if the clocks do not agree: others would take a response that begins now for one that is over. */
  async check(): Promise<void> {
    const { store } = this;
    if (!store.time || performance.now() < this.rightUntil) return;
    const before = Date.now();
    const theirs = await fromStore(() => store.time?.() ?? before);
    const after = Date.now();
    // The store looked at its clock at some time between the two.
    const apart = before > theirs ? before - theirs : Math.max(0, theirs - after);
    if (apart > MAX_APART_MS) {
      const cause = new Error(
        `The clock of this process is ${Math.round(apart)} ms away from that of '${store.name}'.`,
      );
      throw new ApiError('store_error', 'The clocks of this server and its store do not agree.', { cause });
    }
    this.rightUntil = performance.now() + HOLDS_MS;
  }
}
