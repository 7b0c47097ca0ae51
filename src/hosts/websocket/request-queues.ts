/** The order of a connection's requests: one after the other within a lane, lanes in parallel. */

/** One request; `run` never rejects. */
export interface Job {
  /** Undefined for the lane of requests that name none. */
  readonly lane: string | undefined;
  /** The bytes that the request occupies while it waits. */
  readonly bytes: number;
  run(): Promise<void>;
}

/** How much may run and wait. */
interface QueueLimits {
  readonly running: number;
  readonly waiting: number;
  readonly waitingBytes: number;
}

/** The requests of one connection, by lane. */
interface RequestQueues {
  readonly idle: boolean;
  /** Runs the job as soon as its lane is free; returns false if there is no room for it to wait. */
  add(job: Job): boolean;
  /** Drops the waiting jobs. */
  clear(): void;
}

/** Creates empty queues; `onIdle` is called each time the last running job has ended. */
export function requestQueues(limits: QueueLimits, onIdle: () => void): RequestQueues {
  const running = new Set<Job['lane']>();
  let waiting: readonly Job[] = [];

  function runWaiting(): void {
    const job = running.size < limits.running ? waiting.find(({ lane }) => !running.has(lane)) : undefined;
    if (!job) return;
    waiting = waiting.filter((other) => other !== job);
    running.add(job.lane);
    job.run().then(() => {
      running.delete(job.lane);
      runWaiting();
      if (running.size === 0) onIdle();
    });
    runWaiting();
  }

  const mustWait = ({ lane }: Job) => running.size >= limits.running || running.has(lane);

  return {
    get idle() {
      return running.size === 0;
    },
    add(job) {
      const bytes = waiting.reduce((sum, other) => sum + other.bytes, job.bytes);
      if (mustWait(job) && (waiting.length >= limits.waiting || bytes > limits.waitingBytes)) return false;
      waiting = [...waiting, job];
      runWaiting();
      return true;
    },
    clear() {
      waiting = [];
    },
  };
}
