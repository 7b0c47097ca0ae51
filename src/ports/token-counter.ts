/** The port to whatever counts tokens before a model server has. */
import type { ModelRequest } from '../protocol/model-request.ts';

/** Tokens of one request to a model. */
export type TokenCounter = (request: ModelRequest) => Promise<number>;
