/** Counts what a client has sent of a message that is not whole yet in the byte budget for bodies. */
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { bodyByteShare } from '../../server/requests/body-room.ts';

/** Whose room it is, and what all bodies may take together. */
interface ArrivalLimits {
  readonly tenant: () => string;
  readonly most: number;
}

/** Calls `onFull`, once, when there is no room for what arrives; `wire` is the connection below the WebSocket. */
export function countArrivingBytes(
  socket: WebSocket,
  wire: Duplex,
  { tenant, most }: ArrivalLimits,
  onFull: () => void,
): void {
  const share = bodyByteShare(tenant);
  let bytes = 0;
  let isFull = false;

  // In front of ws, so that a whole message is counted before it is taken; what follows it in the same piece is not counted.
  wire.prependListener('data', (piece: Buffer) => {
    bytes += piece.byteLength;
    if (isFull || share.growTo(bytes, most)) return;
    isFull = true;
    onFull();
  });
  socket.on('message', () => {
    bytes = 0;
    share.end();
  });
  socket.once('close', () => share.end());
}
