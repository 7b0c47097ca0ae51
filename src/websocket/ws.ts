/** The package `ws`. */
import type * as Ws from 'ws';
import { peer } from '../ports/host/peer.ts';

/** Throws where the package is missing, when this file is loaded. */
export const { WebSocketServer } = peer<typeof Ws>('express-open-responses/websocket', 'ws');
