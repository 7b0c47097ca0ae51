/** Bounds how many responses run at the same time. */

/** A number of slots, each taken before a job is claimed and freed when the job is over. */
export class Slots {
  private readonly waiting: (() => void)[] = [];
  private isClosed = false;

  private free: number;

  constructor(count: number) {
    this.free = count;
  }

  /** Whether there was a free place, which is taken then. */
  tryTake(): boolean {
    if (this.isClosed || this.free === 0) return false;
    this.free -= 1;
    return true;
  }

  /** Takes a slot as soon as one is free; resolves with false once the slots are closed. */
  async take(): Promise<boolean> {
    while (!this.isClosed && this.free === 0) await new Promise<void>((resolve) => this.waiting.push(resolve));
    return this.tryTake();
  }

  giveBack(): void {
    this.free += 1;
    this.waiting.shift()?.();
  }

  close(): void {
    this.isClosed = true;
    for (const wake of this.waiting.splice(0)) wake();
  }
}
