/** The memory in which this process reads request bodies and holds those of clients that do not read, whatever serves them. */
import { type ByteShare, SharedBytes } from '../../ports/queues/shared-bytes.ts';
import { ApiError } from '../../protocol/errors.ts';

/** One for the process, as its memory is. */
const bodies = new SharedBytes();

/** The room for one body, empty until it grows; `tenant` is called where there is little room. */
export function bodyByteShare(tenant: () => string): ByteShare {
  return bodies.share(tenant);
}

/** The refusal of a body for which there is no room now. */
export function tooManyBodies(): ApiError {
  const message = 'Too many request bodies are being received at once. Try again later.';
  return new ApiError('too_many_bodies', message, { headers: { 'retry-after': '1' } });
}

/** What a request took of the room while it was read. */
export interface BodySize {
  readonly tenant: () => string;
  readonly bytes: number;
  /** What all bodies may take together. */
  readonly most: number;
}

/** Everything that is held for a client besides its body and its answer. */
const CONNECTION_BYTES = 64 * 1024;

/** An answer whose client does not read now: it is held as long as nobody else needs the room. */
export class UnreadAnswer {
  private readonly size: BodySize;
  private readonly cutOff: () => void;

  constructor(size: BodySize, cutOff: () => void) {
    this.size = size;
    this.cutOff = cutOff;
  }

  /** The tenant. */
  get scope(): string {
    return this.size.tenant();
  }

  /** So much of the answer waits for the client. */
  begin(answerBytes: number): void {
    const { bytes, most } = this.size;
    bodies.holdSpare(this, CONNECTION_BYTES + bytes + answerBytes, most);
  }

  /** The client reads again, or has gone. */
  end(): void {
    bodies.holdSpare(this, 0, this.size.most);
  }

  /** The room is needed, and this tenant holds most of it. */
  forgetOldest(): void {
    this.end();
    this.cutOff();
  }
}
