/** Bytes that are kept in blocks of one size, which are used again: garbage collection does not see them come and go. */

/** The unit in which memory is taken, in bytes. */
export const BLOCK_BYTES = 4096;
/** Blocks that are allocated together. */
const SLAB_BLOCKS = 256;

/** Hands out blocks, and takes them back. Its memory is what was in use at once; it never shrinks. */
export class BlockPool {
  private readonly free: Buffer[] = [];

  take(): Buffer {
    if (this.free.length === 0) this.allocate();
    // The cast: there is one now.
    return this.free.pop() as Buffer;
  }

  giveBack(block: Buffer): void {
    this.free.push(block);
  }

  private allocate(): void {
    const slab = Buffer.allocUnsafeSlow(SLAB_BLOCKS * BLOCK_BYTES);
    for (let at = 0; at < slab.length; at += BLOCK_BYTES) this.free.push(slab.subarray(at, at + BLOCK_BYTES));
  }
}

/** A text that arrives as bytes in UTF-8. */
export class PooledBytes {
  length = 0;
  private readonly pool: BlockPool;
  private blocks: Buffer[] = [];

  constructor(pool: BlockPool) {
    this.pool = pool;
  }

  /** What it takes in memory. */
  get size(): number {
    return this.blocks.length * BLOCK_BYTES;
  }

  /** Copies the first `count` of the bytes. */
  append(bytes: Buffer, count: number): void {
    let from = 0;
    while (from < count) {
      const at = this.length % BLOCK_BYTES;
      if (at === 0) this.blocks.push(this.pool.take());
      const block = this.blocks.at(-1) as Buffer;
      const copied = bytes.copy(block, at, from, count);
      from += copied;
      this.length += copied;
    }
  }

  /** Its first block, or what there is of it. */
  beginning(): string {
    return this.blocks[0]?.toString('utf8', 0, Math.min(this.length, BLOCK_BYTES)) ?? '';
  }

  text(): string {
    return Buffer.concat(this.blocks).toString('utf8', 0, this.length);
  }

  /** Gives its blocks back; it is empty from then on. */
  clear(): void {
    for (const block of this.blocks) this.pool.giveBack(block);
    this.blocks = [];
    this.length = 0;
  }
}
