/** The Responses API over WebSocket, on an HTTP server of the host's; needs the package `ws`. */
export { type AttachedWebSocket, attachResponsesWebSocket } from './attach.ts';
export type { Refusal, UpgradeListener, UpgradeServer, WebSocketOptions } from './options.ts';
