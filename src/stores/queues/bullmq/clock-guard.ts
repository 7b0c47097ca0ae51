/** Compares this process' clock with the database's: the queue writes times by the clocks of its processes. */

/** The clocks of one engine. */
export interface Clocks {
  /** This process' time, in milliseconds since the epoch. */
  readonly now: () => number;
  /** How often the clocks are compared, in milliseconds. */
  readonly compareEveryMs: number;
}

/** Whether this process may claim. It must not if other processes would see its locks as expired, or as never expiring. */
export class ClockGuard {
  /** False until they were compared. */
  isRight = false;

  private readonly clocks: Clocks;
  private readonly lockMs: number;

  constructor(clocks: Clocks, lockMs: number) {
    this.clocks = clocks;
    this.lockMs = lockMs;
  }

  /** Asks the database; resolves with an error that names the difference if that is more than half a lock. */
  async compare(databaseNow: () => Promise<number>): Promise<Error | undefined> {
    const before = this.clocks.now();
    const databaseTime = await databaseNow();
    const after = this.clocks.now();
    // The database looked at its clock at some time between the two.
    const aheadMs = before > databaseTime ? before - databaseTime : Math.min(0, after - databaseTime);
    this.isRight = Math.abs(aheadMs) <= this.lockMs / 2;
    if (this.isRight) return undefined;
    const direction = aheadMs > 0 ? 'ahead of' : 'behind';
    return new Error(
      `bullmqEngine: the clock of this process is ${Math.round(Math.abs(aheadMs))} ms ${direction} the database's, more than ` +
        `half of lockMs (${this.lockMs}): it claims no responses until the clocks agree.`,
    );
  }
}
