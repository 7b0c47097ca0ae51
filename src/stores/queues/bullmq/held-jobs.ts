/** The jobs that belong to this process: their locks are renewed until they are over or lost. */
import { type ClaimedJob, type Session, settledWithin } from './session.ts';

/** A job whose lock this process has. */
export interface HeldJob {
  readonly job: ClaimedJob;
  readonly token: string;
  /** Aborted when the job is lost or released. */
  readonly controller: AbortController;
  isLost: boolean;
}

/** The held jobs by id. */
export class HeldJobs {
  private readonly byId = new Map<string, HeldJob>();
  private renewing = false;
  private readonly lockMs: number;
  private readonly onError: (error: unknown) => void;

  constructor(lockMs: number, onError: (error: unknown) => void) {
    this.lockMs = lockMs;
    this.onError = onError;
  }

  hold(job: ClaimedJob, token: string): HeldJob {
    const held: HeldJob = { job, token, controller: new AbortController(), isLost: false };
    const id = String(job.id);
    // Its lock was lost if the same job was claimed again.
    lose(this.byId.get(id));
    this.byId.set(id, held);
    return held;
  }

  drop(held: HeldJob): void {
    const id = String(held.job.id);
    if (this.byId.get(id) === held) this.byId.delete(id);
  }

  abortAll(reason: Error): void {
    for (const { controller } of this.byId.values()) controller.abort(reason);
  }

  /**
   * Renews all locks in one request, and aborts the jobs whose lock is lost. A database that does not answer within the
   * life of a lock is asked again.
   */
  async renew(session: Session): Promise<void> {
    if (this.renewing || this.byId.size === 0) return;
    this.renewing = true;
    await settledWithin(this.lockMs, () => this.renewOnce(session, [...this.byId.values()]));
    this.renewing = false;
  }

  private async renewOnce({ worker }: Session, held: readonly HeldJob[]): Promise<void> {
    try {
      const ids = held.map(({ job }) => String(job.id));
      const tokens = held.map(({ token }) => token);
      const lost = new Set(await worker.extendJobLocks(ids, tokens, this.lockMs));
      for (const each of held) if (lost.has(String(each.job.id))) this.forget(each);
    } catch (error) {
      this.onError(error);
    }
  }

  /** Unless it was finished while the database answered. */
  private forget(held: HeldJob): void {
    if (this.byId.get(String(held.job.id)) !== held) return;
    this.drop(held);
    lose(held);
  }
}

function lose(held: HeldJob | undefined): void {
  if (!held) return;
  held.isLost = true;
  held.controller.abort(new Error('The response belongs to another process now.'));
}
