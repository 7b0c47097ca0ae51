/** The package `ws`. */
import type * as Ws from 'ws';
import { requirePeer } from '../../ports/host/peer.ts';

/** Throws on import if the package is missing. */
export const { WebSocketServer } = requirePeer<typeof Ws>('express-open-responses/websocket', 'ws');
