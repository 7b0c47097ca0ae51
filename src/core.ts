/** Everything that needs no framework: all APIs in one call, and their options. */

export * from './common.ts';
export { type OpenResponsesOptions, openResponses } from './hosts/web/open-responses.ts';
