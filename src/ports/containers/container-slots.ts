/** The slots of kept containers: assigns them, evicts idle ones, and queues callers, tenants in turn. */

import type { CodeContainer, ContainerTerms } from '../hosted-tools/code-runtime.ts';
import type { Linked } from '../queues/line.ts';
import { serialQueue } from '../queues/serial-queue.ts';
import { TurnQueue } from '../queues/turn-queue.ts';
import { limitScope } from '../scope.ts';
import { storeKey } from '../store.ts';
import type { ContainerKey } from './container.ts';

/** The slot of one key, whose container may not exist yet, or not any more. */
export interface ContainerSlot {
  /** The scope of the key. */
  readonly name: string;
  readonly scope: string;
  readonly enqueue: ReturnType<typeof serialQueue>;
  /** The files of conversations and skills that were put into the process, with a digest of those of skills. */
  readonly names: Map<string, string>;
  /** The kept files that are in the process, with the version of each. */
  readonly versions: Map<string, string>;
  container: CodeContainer | undefined;
  /** What the container was made with. */
  terms: ContainerTerms | undefined;
}

/** How long slots are kept, and how many. */
interface SlotLimits {
  readonly idleMs: number;
  readonly max: number;
  readonly maxPerScope: number;
}

interface UsedSlot extends ContainerSlot {
  /** Runs in progress or waiting. */
  runs: number;
  expiry: NodeJS.Timeout | undefined;
}

/** A run that waits for a slot. */
interface WaitingRun extends Linked<WaitingRun> {
  readonly tenant: string;
  readonly name: string;
  readonly scope: string;
  readonly start: (slot: ContainerSlot) => void;
  readonly stop: (reason: unknown) => void;
}

/** Runs that wait for a slot, of all tenants; one tenant may have as many as it leaves free. */
const MAX_WAITING = 256;

/** The slots of all keys. */
export class ContainerSlots {
  private readonly limits: SlotLimits;
  // In the order of use: the first has been idle for longest.
  private readonly slots = new Map<string, UsedSlot>();
  private readonly queue = new TurnQueue<WaitingRun>();
  /** Those in the queue, by the name of their slot. */
  private readonly waiting = new Map<string, Set<WaitingRun>>();
  private readonly closing = new AbortController();

  constructor(limits: SlotLimits) {
    this.limits = limits;
  }

  /** Aborted by `close`. */
  get closed(): AbortSignal {
    return this.closing.signal;
  }

  /** The slot of the key, which stays until each `acquire` has had its `release`; waits if there is no room. */
  async acquire({ scope, id }: ContainerKey, signal: AbortSignal): Promise<ContainerSlot> {
    signal.throwIfAborted();
    this.closed.throwIfAborted();
    const name = storeKey({ scope, id });
    const slot = this.slots.get(name) ?? (this.hasRoom(scope) ? emptySlot(name, scope) : undefined);
    // Taken before another caller can evict it.
    return slot ? this.take(slot) : this.wait(name, scope, signal);
  }

  release({ name, scope }: ContainerSlot): void {
    const slot = this.slots.get(name);
    if (!slot) return;
    slot.runs -= 1;
    if (slot.runs > 0) return;
    this.scheduleExpiry(slot);
    this.assignFreeSlots(limitScope(scope));
  }

  /** Whether code runs there, or waits to. */
  isInUse(key: ContainerKey): boolean {
    return (this.slots.get(storeKey(key))?.runs ?? 0) > 0;
  }

  /** How many processes of the tenant there are. */
  countOf(scope: string): number {
    return this.slotsIn(limitScope(scope)).filter(({ container }) => container?.alive).length;
  }

  /** Ends the process of the container, whatever runs in it; the runs that wait for it get a new one. */
  end(key: ContainerKey): void {
    const slot = this.slots.get(storeKey(key));
    if (!slot) return;
    if (slot.runs === 0) this.drop(slot);
    else slot.container?.close().catch(() => {});
  }

  /** Closes every container in a slot. */
  async close(): Promise<void> {
    const reason = new Error('The containers are closed.');
    this.closing.abort(reason);
    for (const run of [...this.queue]) run.stop(reason);
    const open = [...this.slots.values()];
    for (const slot of open) this.drop(slot);
    await Promise.allSettled(open.map(({ container }) => container?.close()));
  }

  private wait(name: string, scope: string, signal: AbortSignal): Promise<ContainerSlot> {
    const tenant = limitScope(scope);
    if (this.queue.sizeOf(tenant) >= MAX_WAITING - this.queue.size)
      throw new Error('Too many runs wait for a container. Try again later.');
    return new Promise((resolve, reject) => {
      const abort = () => run.stop(signal.reason);
      const end = () => signal.removeEventListener('abort', abort);
      const run: WaitingRun = {
        tenant,
        name,
        scope,
        start: (slot) => {
          end();
          resolve(slot);
        },
        stop: (reason) => {
          end();
          this.queue.remove(run);
          this.forgetWaiting(run);
          reject(reason);
        },
      };
      signal.addEventListener('abort', abort, { once: true });
      this.queue.add(run);
      this.waiting.set(name, (this.waiting.get(name) ?? new Set()).add(run));
    });
  }

  private forgetWaiting(run: WaitingRun): void {
    const others = this.waiting.get(run.name);
    others?.delete(run);
    if (others?.size === 0) this.waiting.delete(run.name);
  }

  /** Slots that are free go round between the tenants that wait; this one may take part again. */
  private assignFreeSlots(tenant: string): void {
    this.queue.wake(tenant);
    while (this.isFree(this.slotsIn(undefined), this.limits.max)) {
      const next = this.queue.next((share) => this.isFree(this.slotsIn(share), this.limits.maxPerScope));
      if (!next || !this.hasRoom(next.scope)) return;
      const slot = emptySlot(next.name, next.scope);
      const runs = [...(this.waiting.get(next.name) ?? [])];
      this.waiting.delete(next.name);
      for (const run of runs) {
        // The first one has left the queue already.
        if (run !== next) this.queue.remove(run);
        run.start(this.take(slot));
      }
    }
  }

  private take(slot: UsedSlot): UsedSlot {
    clearTimeout(slot.expiry);
    slot.runs += 1;
    this.slots.delete(slot.name);
    this.slots.set(slot.name, slot);
    return slot;
  }

  /** Makes room if one of the containers is idle. */
  private hasRoom(scope: string): boolean {
    const { max, maxPerScope } = this.limits;
    const share = limitScope(scope);
    return this.hasRoomAmong(this.slotsIn(share), maxPerScope) && this.hasRoomAmong(this.slotsIn(undefined), max);
  }

  /** Those of a tenant, or all. */
  private slotsIn(share: string | undefined): readonly UsedSlot[] {
    const all = [...this.slots.values()];
    return share === undefined ? all : all.filter((slot) => limitScope(slot.scope) === share);
  }

  private isFree(slots: readonly UsedSlot[], max: number): boolean {
    return slots.length < max || slots.some(({ runs }) => runs === 0);
  }

  private hasRoomAmong(slots: readonly UsedSlot[], max: number): boolean {
    if (slots.length < max) return true;
    const idle = slots.find(({ runs }) => runs === 0);
    if (idle) this.drop(idle);
    return idle !== undefined;
  }

  private drop(slot: UsedSlot): void {
    clearTimeout(slot.expiry);
    this.slots.delete(slot.name);
    // Nobody waits for it; the runtime deals with a container that does not close.
    slot.container?.close().catch(() => {});
  }

  private scheduleExpiry(slot: UsedSlot): void {
    if (!slot.container?.alive) return this.drop(slot);
    slot.expiry = setTimeout(() => this.drop(slot), this.limits.idleMs).unref();
  }
}

function emptySlot(name: string, scope: string): UsedSlot {
  return {
    name,
    scope,
    enqueue: serialQueue(),
    names: new Map(),
    versions: new Map(),
    container: undefined,
    terms: undefined,
    runs: 0,
    expiry: undefined,
  };
}
