/** One turn of an agent beside those of other agents: whoever has them all pulls it, and is handed its batches. */

import { ApiError } from '../../protocol/errors.ts';
import type { TurnEvent } from '../../protocol/events.ts';
import { ROOT_AGENT } from '../../protocol/tool-calls/conversation/agent-items.ts';
import type { Consumer, PullStream } from '../../streams/pull-stream.ts';
import type { Agent } from './agent-tree.ts';

/** Who reads the turns of all agents. */
interface RunOwner {
  take(run: AgentRun, batch: readonly TurnEvent[]): void;
  /** The turn has failed where it cannot say so itself. */
  fail(run: AgentRun, error: unknown): void;
}

interface RunParts {
  /** How many turns of agents had begun, this one included. */
  readonly number: number;
  /** Ends the turn; undefined for the first one of the response, which ends with the request. */
  readonly stop: AbortController | undefined;
  /** How long it may take, in milliseconds; the first agent's may take as long as the response. */
  readonly taskMs: number;
}

/** One turn of an agent while it runs. */
export class AgentRun implements Consumer<readonly TurnEvent[]> {
  readonly agent: Agent;
  readonly number: number;
  readonly stop: AbortController | undefined;
  /** The items by their places in the agent's own turn. */
  readonly places = new Map<number, { readonly index: number; readonly itemId: string }>();
  readonly callIds = new Map<string, string>();
  /** What it has written, in UTF-8. */
  bytes = 0;
  private readonly owner: RunOwner;
  private readonly stream: PullStream<readonly TurnEvent[]>;
  private readonly timer: NodeJS.Timeout | undefined;
  private isPulled = false;
  private isClosed = false;

  constructor(owner: RunOwner, agent: Agent, stream: PullStream<readonly TurnEvent[]>, parts: RunParts) {
    const { number, stop, taskMs } = parts;
    this.owner = owner;
    this.agent = agent;
    this.stream = stream;
    this.number = number;
    this.stop = stop;
    if (stop && agent.name !== ROOT_AGENT) {
      const late = new ApiError('duration_exceeded', `The task took longer than the ${taskMs} ms that it may.`);
      this.timer = setTimeout(() => stop.abort(late), taskMs).unref();
    }
  }

  pull(): void {
    if (this.isPulled || this.isClosed) return;
    this.isPulled = true;
    this.stream.pull(this);
  }

  close(): unknown {
    if (this.isClosed) return undefined;
    this.isClosed = true;
    clearTimeout(this.timer);
    return this.stream.close();
  }

  onChunk(batch: readonly TurnEvent[]): void {
    this.isPulled = false;
    if (!this.isClosed) this.owner.take(this, batch);
  }

  onEnd(): void {
    if (!this.isClosed) this.onError(new ApiError('request_aborted', 'The turn ended before its last event.'));
  }

  onError(error: unknown): void {
    if (this.isClosed) return;
    this.isClosed = true;
    clearTimeout(this.timer);
    this.owner.fail(this, error);
  }
}
