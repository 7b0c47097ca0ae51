/** Runs work for the same name one after another, and work for different names at the same time. */
export class OneAtATime {
  private readonly last = new Map<string, Promise<unknown>>();

  /** Runs the work once all earlier work of that name has ended. */
  async run<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const earlier = this.last.get(name);
    const result = (async () => {
      await earlier?.catch(() => {});
      return work();
    })();
    this.last.set(name, result);
    try {
      return await result;
    } finally {
      if (this.last.get(name) === result) this.last.delete(name);
    }
  }
}
