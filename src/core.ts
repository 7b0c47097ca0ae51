/** Everything that needs no framework: all APIs as functions, the Web handler, and their options. */

export * from './common.ts';
export type { NodeHeaders } from './engine/request/endpoint-request.ts';
export type { Reply } from './protocol/reply.ts';
export { type Api, createChatCompletions, createMessages, createResponses } from './server/api.ts';
export type { ApiRequest, ServedApi } from './server/served-routes.ts';
