/** When a call of a tool must end. */
import type { Limits } from '../../ports/limits.ts';

/** The call took too long. */
export class CallTimeout extends Error {
  override readonly name = 'CallTimeout';
}

/** Ends a call that makes no progress for a while, that takes too long altogether, or whose turn ends; not its provider. */
export class CallDeadline {
  private readonly controller = new AbortController();
  private readonly turn: AbortSignal;
  private readonly untilProgress: NodeJS.Timeout;
  private readonly whole: NodeJS.Timeout;
  private hasEnded = false;

  constructor(turn: AbortSignal, { toolTimeoutMs, toolMaxMs }: Pick<Limits, 'toolTimeoutMs' | 'toolMaxMs'>) {
    this.turn = turn;
    turn.addEventListener('abort', this.follow, { once: true });
    this.untilProgress = this.expireAfter(toolTimeoutMs, `The tool did not answer within ${toolTimeoutMs} ms.`);
    // A tool may always take as long as one that makes no progress.
    const most = Math.max(toolMaxMs, toolTimeoutMs);
    this.whole = this.expireAfter(most, `The tool did not end within ${most} ms.`);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Whether the call has ended or must end. */
  get isOver(): boolean {
    return this.hasEnded || this.signal.aborted;
  }

  /** The tool goes on. */
  postpone(): void {
    if (!this.isOver) this.untilProgress.refresh();
  }

  end(): void {
    this.hasEnded = true;
    clearTimeout(this.untilProgress);
    clearTimeout(this.whole);
    this.turn.removeEventListener('abort', this.follow);
  }

  private readonly follow = () => this.controller.abort(this.turn.reason);

  private expireAfter(ms: number, message: string): NodeJS.Timeout {
    return setTimeout(() => this.controller.abort(new CallTimeout(message)), ms);
  }
}
