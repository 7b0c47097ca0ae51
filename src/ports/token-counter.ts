/** The port to whatever counts tokens before a model server has. */
import type { ModelRequest } from '../protocol/model-request.ts';

/** Tokens of one request to a model. Rejects with the signal's reason. */
export type TokenCounter = (request: ModelRequest, signal: AbortSignal) => Promise<number>;
