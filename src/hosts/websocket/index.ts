/** The Responses API over WebSocket, on an HTTP server of the host's; needs the package `ws`. */
export type { Admission, AdmittedTenant, Refusal } from '../../ports/host/admission.ts';
export type { WebSocketRequest } from '../node/host-requests.ts';
export { type AttachedWebSocket, attachResponsesWebSocket, type WebSocketStatus } from './attach.ts';
export type {
  ServedByWebSocket,
  UpgradeListener,
  UpgradeServer,
  WebSocketCoreOptions,
  WebSocketOptions,
} from './options.ts';
