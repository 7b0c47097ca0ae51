/** The package `ws`. */
import type * as Ws from 'ws';
import { peer } from '../../ports/host/peer.ts';

/** Throws on import if the package is missing. */
export const { WebSocketServer } = peer<typeof Ws>('express-open-responses/websocket', 'ws');
