/** A turn of several agents: each of their turns is one of the engine, and their events are those of one response. */

import { ApiError, toApiError } from '../../protocol/errors.ts';
import { NO_USAGE, type TurnEnd, type TurnError, type TurnEvent, type Usage, usageSum } from '../../protocol/events.ts';
import { movedItemId, outputItemId } from '../../protocol/ids.ts';
import { contentText } from '../../protocol/item-text.ts';
import type { Item, OutputItem } from '../../protocol/items.ts';
import { itemsOfAgent, ROOT_AGENT } from '../../protocol/tool-calls/conversation/agent-items.ts';
import { pendingClientCalls } from '../../protocol/tool-calls/conversation/pair-calls.ts';
import { answeredId, isClientAnswer, isClientCall } from '../../protocol/tool-calls/kinds.ts';
import { type Consumer, deliver, type PullStream, pullInTurn, Stage } from '../../streams/pull-stream.ts';
import { hasLeft } from '../request/endpoint-request.ts';
import { startState, type TurnState } from '../turn/machine/state.ts';
import { isComment, runTurn, type Turn } from '../turn/run-turn.ts';
import type { AgentMail } from '../turn/tool-loop.ts';
import { AgentRun } from './agent-run.ts';
import type { Agent, AgentLetter, AgentRunner, AgentStatus, AgentTree } from './agent-tree.ts';

/** What one turn of an agent is made of. */
export interface AgentTurnParts {
  readonly agent: string;
  /** What it has seen so far. */
  readonly items: readonly Item[];
  /** The output of the response so far. */
  readonly made: readonly Item[];
  readonly signal: AbortSignal;
  readonly mail: AgentMail;
}

/** What the agents of a response have in common. */
export interface SharedByAgents {
  readonly tree: AgentTree;
  /** The conversation before this response. */
  readonly conversation: readonly Item[];
  /** Aborts the first agent's turn, and with it all others. */
  readonly stop: AbortController;
  /** The signal of the first agent's turn. */
  readonly signal: AbortSignal;
  /** Prepares a turn of an agent that is not the first turn of the response. */
  readonly prepareTurn: (parts: AgentTurnParts) => Promise<Turn>;
  /** The names of agents that the request has answers for. */
  readonly answered: readonly string[];
  /** How long one turn of an agent besides the first may take, in milliseconds. */
  readonly taskMs: number;
  /** How long a response whose agents all wait for the client stays open, in milliseconds; undefined if it ends at once. */
  readonly injectWaitMs: number | undefined;
  /** How many bytes of answers clients may send while the response runs: as many as with a request. */
  readonly injectBytes: number;
}

/** Why input was not taken into a running response. */
export type InjectFailure = 'response_already_completed' | ApiError;

/**
 * The events of the turns of all agents, as those of one turn; takes what the client sends meanwhile, too. Each pull is answered by whichever agent
 * has events first; none is more than one batch ahead of the reader.
 */
export class AgentsTurn extends Stage<readonly TurnEvent[]> implements AgentRunner {
  private readonly turn: Turn;
  private readonly agents: SharedByAgents;
  private readonly tree: AgentTree;
  private readonly runs = new Map<string, AgentRun>();
  private readonly output: OutputItem[] = [];
  private readonly ready: (readonly TurnEvent[])[] = [];
  /** Calls that the client has not answered, with their agents. */
  private readonly open = new Map<unknown, string>();
  private readonly callIds = new Map<string, string>();
  private consumer: Consumer<readonly TurnEvent[]> | undefined = undefined;
  /** Agents that the request has answers for, and that have not gone on yet. */
  private answered: readonly string[];
  private failure: { readonly error: unknown } | undefined = undefined;
  private sequence = 0;
  private begun = 0;
  private usage: Usage = NO_USAGE;
  private cost: number | undefined = undefined;
  /** Bytes of the turns that have ended, and of what agents were told. */
  private bytes = 0;
  private end: TurnEnd | undefined = undefined;
  private timer: NodeJS.Timeout | undefined = undefined;
  /** Fills the silence once the first agent's turn, which fills its own, has ended. */
  private silence: NodeJS.Timeout | undefined = undefined;
  private heartbeats = 0;
  private hasWaited = false;
  /** Bytes of the client's answers. */
  private injectedBytes = 0;
  private isEnding = false;
  private over = false;

  constructor(turn: Turn, agents: SharedByAgents) {
    super();
    this.turn = turn;
    this.agents = agents;
    this.tree = agents.tree;
    this.answered = agents.answered;
    this.tree.runBy(this);
  }

  pull(consumer: Consumer<readonly TurnEvent[]>): void {
    if (this.failure) return consumer.onError(this.failure.error);
    if (this.over && this.ready.length === 0) return this.finish(consumer);
    this.consumer = consumer;
    const batch = this.ready.shift();
    if (batch) return this.handOn(batch);
    if (this.begun === 0) {
      const { compaction: asked } = this.turn;
      const own = { ...this.inner(ROOT_AGENT), runBy: undefined, compaction: asked?.only ? asked : undefined };
      this.run(this.tree.root, runTurn({ ...this.turn, ...own }));
    }
    for (const run of [...this.runs.values()]) {
      if (!this.consumer) return;
      run.pull();
    }
  }

  close(): unknown {
    this.over = true;
    clearTimeout(this.timer);
    clearInterval(this.silence);
    const runs = [...this.runs.values()];
    this.runs.clear();
    this.turn.leave();
    return Promise.all(runs.map((run) => run.close()));
  }

  /** Begins a turn of the agent. */
  begin(agent: Agent): void {
    const { agents, tree } = this;
    const { name } = agent;
    agent.status = 'running';
    agent.mustPause = false;
    const stop = new AbortController();
    const signal = AbortSignal.any([agents.signal, stop.signal]);
    const made = [...this.output];
    const items = itemsOfAgent([...agents.conversation, ...made], name, tree.forks);
    const prepare = async function* (inner: Inner) {
      const turn = await agents.prepareTurn({ agent: name, items, made, signal, mail: tree.mailbox(agent, signal) });
      yield runTurn({ ...turn, ...inner });
    };
    this.run(agent, pullInTurn(prepare(this.inner(name))), stop);
  }

  interrupt({ name }: Agent): void {
    this.runs.get(name)?.stop?.abort(new ApiError('request_aborted', 'The agent was interrupted.'));
  }

  staysOpen(): boolean {
    const { injectWaitMs } = this.agents;
    if (injectWaitMs === undefined || this.hasWaited || this.open.size === 0) return false;
    this.timer ??= setTimeout(() => {
      this.hasWaited = true;
      this.tree.changed();
      this.settle();
    }, injectWaitMs).unref();
    return true;
  }

  deliver({ author, recipient, text }: AgentLetter): Item {
    const index = this.output.length;
    const id = outputItemId('amsg', this.turn.plan.seed, index);
    const content = [{ type: 'input_text', text } as const];
    this.count(Buffer.byteLength(text));
    return this.write({ id, type: 'agent_message', author, recipient, content }, recipient);
  }

  /**
   * Takes the client's answers to calls of agents that wait for them, all or none; an agent whose calls are all answered
   * goes on.
   */
  inject(items: readonly Item[]): InjectFailure | undefined {
    if (this.over || this.isEnding) return 'response_already_completed';
    const ids = items.map(answeredId);
    const unknown = ids.find((id, at) => !this.open.has(id) || ids.indexOf(id) < at);
    if (unknown !== undefined || items.length === 0) {
      const message = `No call of this response waits for the output with call_id '${String(unknown).slice(0, MAX_QUOTED)}'.`;
      return new ApiError('invalid_value', message, { param: 'input' });
    }
    const bytes = Buffer.byteLength(JSON.stringify(items));
    if (this.injectedBytes + bytes > this.agents.injectBytes)
      return new ApiError('request_too_large', 'The answers to this response are larger than this server takes.');
    this.injectedBytes += bytes;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.hasWaited = false;
    const owners = new Set<string>();
    for (const item of items) {
      const callId = answeredId(item);
      const owner = this.open.get(callId) ?? ROOT_AGENT;
      this.open.delete(callId);
      owners.add(owner);
      const prefix = item.type === 'tool_search_output' ? 'tso' : 'fco';
      const id = outputItemId(prefix, this.turn.plan.seed, this.output.length);
      // A patch may have failed.
      const status = item.status ?? 'completed';
      // The cast: the answer to a call has been validated as an item.
      this.write({ ...item, id, call_id: callId, status } as unknown as OutputItem, owner);
    }
    this.put([{ type: 'input-injected', sequence: this.sequence++ }]);
    for (const owner of owners) {
      const agent = this.tree.agents.get(owner);
      if (agent?.status === 'waiting_for_client' && !this.waitsForClient(owner)) this.begin(agent);
    }
    this.settle();
    return undefined;
  }

  /** The client has sent input that the next response goes on with: nobody is waited for, and what the client must answer it answers there. */
  steer(): void {
    if (this.over || this.isEnding) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.hasWaited = true;
    this.tree.isSteered = true;
    this.tree.changed();
    if (this.end) this.interruptAll();
    this.settle();
  }

  /** An agent's batch, in the numbers of the response. */
  take(run: AgentRun, batch: readonly TurnEvent[]): void {
    let own: TurnEvent[] = [];
    let isOfAgent = false;
    let end: TurnEnd | undefined;
    for (const [at, event] of batch.entries()) {
      if (event.type === 'turn-end') end = event;
      const shown = this.renumbered(run, event, batch[at + 1]);
      if (!shown) continue;
      // The encoder reads whose a batch is from its first event.
      if (own.length > 0 && isOfAgent !== 'agent' in shown) {
        this.put(own);
        own = [];
      }
      isOfAgent = 'agent' in shown;
      own.push(shown);
    }
    if (own.length > 0) this.put(own);
    // Not before: the response begins with the first agent.
    if (run.number === 1) this.beginAnswered();
    if (end) this.endRun(run, end);
    else if (this.consumer) run.pull();
  }

  /** An agent's turn has failed where it cannot say so itself. */
  fail(run: AgentRun, error: unknown): void {
    this.runs.delete(run.agent.name);
    const isOver = run.agent === this.tree.root || hasLeft(this.agents.signal);
    if (!isOver) {
      this.tree.ended(run.agent, 'failed', `${FAILED} ${toApiError(error).message}`);
      return this.settle();
    }
    this.breakOff(error);
  }

  private breakOff(error: unknown): void {
    const { consumer } = this;
    this.consumer = undefined;
    this.failure = { error };
    Promise.resolve(this.close()).catch(() => {});
    consumer?.onError(error);
  }

  /** What all agents have come to; of those that wait for the client nothing may go. */
  private async compact(): Promise<void> {
    const { compaction, plan } = this.turn;
    if (!compaction || compaction.only || this.tree.paused.length > 0) return;
    for await (const [input] of compaction.compact(this.output)) {
      if (input?.type !== 'compacted') continue;
      this.addUsage(input.usage, input.cost);
      const id = outputItemId('cmp', plan.seed, this.output.length);
      this.write({ id, type: 'compaction', encrypted_content: input.encrypted }, ROOT_AGENT);
    }
  }

  private addUsage(usage: Usage, cost: number | undefined): void {
    this.usage = usageSum(this.usage, usage);
    if (cost !== undefined) this.cost = (this.cost ?? 0) + cost;
  }

  /** What the engine tells of an agent's turn. */
  private inner(name: string): Inner {
    const { beforeCalls } = this.turn;
    return {
      beforeCalls: beforeCalls && (() => beforeCalls(this.storedState())),
      keep: async () => {},
      onEvents: (_, { bytes }) => {
        const run = this.runs.get(name);
        if (run) run.bytes = bytes;
        this.count(0);
      },
      leave: () => {},
    };
  }

  private run(agent: Agent, stream: PullStream<readonly TurnEvent[]>, stop?: AbortController): void {
    this.begun += 1;
    const run = new AgentRun(this, agent, stream, { number: this.begun, stop, taskMs: this.agents.taskMs });
    this.runs.set(agent.name, run);
    if (this.begun > 1 && this.consumer) run.pull();
  }

  private count(bytes: number): void {
    this.bytes += bytes;
    const total = [...this.runs.values()].reduce((sum, run) => sum + run.bytes, this.bytes);
    if (total <= this.turn.plan.outputBytes || this.agents.stop.signal.aborted) return;
    const message = "The agents wrote more than this server's limit for a response.";
    this.agents.stop.abort(new ApiError('output_too_large', message));
  }

  private put(events: readonly TurnEvent[]): void {
    this.ready.push(events);
    const batch = this.consumer && this.ready.shift();
    if (batch) this.handOn(batch);
  }

  private handOn(batch: readonly TurnEvent[]): void {
    const { consumer } = this;
    if (!consumer) return;
    this.consumer = undefined;
    this.heartbeats = 0;
    this.silence?.refresh();
    this.turn.onEvents(batch, this.storedState());
    deliver(consumer, batch);
  }

  /** Of agents nothing is restored elsewhere: what is stored of the state has nothing open. */
  private storedState(): TurnState {
    const { sequence, usage } = this;
    return { ...startState(this.turn.plan), started: true, sequence, usage };
  }

  /** Shows a whole item. */
  private write(item: OutputItem, agent: string): Item {
    const index = this.output.length;
    const shown: OutputItem = Object.assign(item, { agent: { agent_name: agent } });
    this.output.push(shown);
    this.put([
      { type: 'item-start', sequence: this.sequence++, index, item: shown, agent },
      { type: 'item-end', sequence: this.sequence++, index, item: shown, agent },
    ]);
    return shown;
  }

  private renumbered(run: AgentRun, event: TurnEvent, next: TurnEvent | undefined): TurnEvent | undefined {
    const { name: agent } = run.agent;
    const isRoot = agent === ROOT_AGENT;
    switch (event.type) {
      case 'turn-start':
      case 'turn-queued':
      case 'turn-progress':
        return run.number === 1 ? { ...event, sequence: this.sequence++ } : undefined;
      case 'keepalive':
        return isRoot ? { ...event, sequence: this.sequence++ } : undefined;
      case 'heartbeat':
        return isRoot ? event : undefined;
      case 'call-dropped':
        return event;
      case 'error':
      case 'raw':
      case 'input-injected':
      case 'turn-end':
        return undefined;
      case 'item-start': {
        const index = this.output.length;
        const place = { index, itemId: movedItemId(event.item.id, this.turn.plan.seed, index) };
        run.places.set(event.index, place);
        const item = this.shownItem(run, event.item, place.itemId, next);
        this.output.push(item);
        return { type: 'item-start', sequence: this.sequence++, index, item, agent };
      }
      case 'item-end': {
        const { index, itemId } = run.places.get(event.index) ?? { index: 0, itemId: event.item.id };
        const item = this.shownItem(run, event.item, itemId, next);
        this.output[index] = item;
        const { call_id: callId, status }: Item = item;
        if (isClientCall(item) && status !== 'incomplete') this.open.set(callId, agent);
        // Where calls of this server are shown as those of a client, it has answered them itself.
        else if (isClientAnswer(item)) this.open.delete(answeredId(item));
        return { type: 'item-end', sequence: this.sequence++, index, item, agent };
      }
      default:
        return { ...event, sequence: this.sequence++, ...run.places.get(event.index), agent };
    }
  }

  /** The item with its agent, and with ids that no other item of the response has. */
  private shownItem(run: AgentRun, item: OutputItem, id: string, next: TurnEvent | undefined): OutputItem {
    const { agent } = run;
    const shown = { ...item, id, agent: { agent_name: agent.name } };
    // The ids of programs are ours, and those of their outputs those of earlier turns.
    const isProgram = shown.type === 'program' || shown.type === 'program_output';
    if (!isProgram && 'call_id' in shown && typeof shown.call_id === 'string')
      Object.assign(shown, { call_id: this.shownCallId(run, shown.call_id) });
    if (shown.type !== 'message' || shown.phase !== undefined) return shown;
    const goesOn = next?.type === 'item-start' || this.tree.goesOn(agent);
    return { ...shown, phase: goesOn ? 'commentary' : 'final_answer' };
  }

  /** Some model servers give the calls of two answers the same id. */
  private shownCallId(run: AgentRun, callId: string): string {
    const owner = this.callIds.get(callId);
    const key = `${run.number} ${callId}`;
    if (owner === undefined) this.callIds.set(callId, key);
    if (owner === undefined || owner === key) return callId;
    const own = run.callIds.get(callId) ?? `call_${this.turn.plan.seed}${this.callIds.size.toString(16)}`;
    run.callIds.set(callId, own);
    this.callIds.set(own, key);
    return own;
  }

  private endRun(run: AgentRun, end: TurnEnd): void {
    const { agent } = run;
    const isRoot = agent === this.tree.root;
    this.runs.delete(agent.name);
    Promise.resolve(run.close()).catch(() => {});
    this.bytes += run.bytes;
    this.addUsage(end.usage, end.upstream?.cost);
    if (isRoot) this.end = end;
    if (run.number === 1) this.fillSilences();
    const isWhole = end.status === 'completed';
    if (isRoot && (!isWhole || this.tree.isSteered)) this.interruptAll();
    const isPending = pendingClientCalls(end.output).length > 0;
    const status = agent.status === 'interrupted' ? 'interrupted' : statusAfter(end, this.waitsForClient(agent.name));
    this.tree.ended(agent, status, isRoot || agent.mustPause ? undefined : turnAnswer(end, status));
    // What it waited for has come before it ended.
    if (isWhole && isPending && status === 'completed' && !this.tree.isSteered) this.begin(agent);
    this.settle();
  }

  /** Whether the agent's last answer has calls that the client must answer, or approve. */
  private waitsForClient(name: string): boolean {
    if ([...this.open.values()].includes(name)) return true;
    return pendingClientCalls(this.output.filter(({ type }) => type === 'mcp_approval_request')).some(
      (item) => itemsOfAgent([item], name).length > 0,
    );
  }

  private beginAnswered(): void {
    const names = this.answered;
    this.answered = [];
    for (const name of names) {
      const agent = this.tree.agents.get(name);
      if (agent && agent.status !== 'running') this.begin(agent);
    }
  }

  /** Agents may work for minutes behind the first one's answer. */
  private fillSilences(): void {
    const { intervalMs } = this.turn.silence;
    if (intervalMs === undefined) return;
    this.silence = setInterval(() => {
      if (this.over) return clearInterval(this.silence);
      // A client that does not read is not silent itself.
      if (!this.consumer) return;
      const count = this.heartbeats + 1;
      this.put([
        isComment(this.turn, count) ? { type: 'heartbeat' } : { type: 'keepalive', sequence: this.sequence++ },
      ]);
      this.heartbeats = count;
    }, intervalMs).unref();
  }

  private interruptAll(): void {
    for (const agent of this.tree.having('running')) {
      if (agent === this.tree.root) continue;
      agent.status = 'interrupted';
      this.interrupt(agent);
    }
  }

  /** Goes on, or ends the response, where no agent works. */
  private settle(): void {
    if (this.runs.size > 0 || this.over || this.isEnding || !this.end) return;
    const isStopped = this.end.status !== 'completed' || this.agents.signal.aborted;
    if (!isStopped && this.tree.isRootAnswered && !this.tree.isSteered) return this.begin(this.tree.root);
    if (!isStopped && this.staysOpen()) return;
    this.isEnding = true;
    void this.endResponse(this.end);
  }

  /** The last event is emitted only once the response can be continued. */
  private async endResponse(last: TurnEnd): Promise<void> {
    for (const agent of this.tree.agents.values()) this.tree.take(agent);
    if (last.error) return this.failResponse(this.whole(last), last.error);
    const isWhole = last.status === 'completed';
    try {
      if (isWhole) await this.compact();
      const end = { ...this.whole(last), completedAt: isWhole ? this.turn.now() : null, sequence: this.sequence };
      await this.turn.keep(end);
      this.over = true;
      this.sequence += 1;
      this.put([end]);
    } catch (error) {
      if (hasLeft(this.agents.signal)) return this.breakOff(error);
      const { body, status, cause, server, advice } = toApiError(error);
      this.failResponse(this.whole(last), { ...body, status, cause, server, advice });
    }
  }

  /** The end of the first agent's last turn as that of the response. */
  private whole(last: TurnEnd): TurnEnd {
    const { output, usage, cost } = this;
    const upstream = cost === undefined ? last.upstream : { ...last.upstream, cost };
    return { ...last, output, usage, ...(upstream ? { upstream } : {}) };
  }

  private failResponse(end: TurnEnd, error: TurnError): void {
    this.over = true;
    this.put([
      { type: 'error', sequence: this.sequence++, error },
      { ...end, sequence: this.sequence++, status: 'failed', reason: null, completedAt: null, error },
    ]);
  }
}

/** What the agent above is told before the reason. */
const FAILED = 'The agent has not done its task:';
/** Characters of an id in a message. */
const MAX_QUOTED = 100;

/** What the turns of agents do by the turn of the response. */
type Inner = Pick<Turn, 'keep' | 'onEvents' | 'leave' | 'beforeCalls'>;

function statusAfter({ status }: TurnEnd, waits: boolean): AgentStatus {
  if (status !== 'completed') return 'failed';
  return waits ? 'waiting_for_client' : 'completed';
}

/** What the agent above is told; undefined if it is told nothing yet. */
function turnAnswer({ output, error, reason }: TurnEnd, status: AgentStatus): string | undefined {
  if (status === 'waiting_for_client' || status === 'interrupted') return undefined;
  const message = output.findLast(({ type }) => type === 'message');
  const text = message?.type === 'message' ? contentText(message.content) : '';
  if (status === 'completed') return text === '' ? 'The agent has ended without an answer.' : text;
  const written = text === '' ? '' : `\nIt had written:\n${text}`;
  return `${FAILED} ${error?.message ?? `it was stopped: ${reason}`}${written}`;
}
