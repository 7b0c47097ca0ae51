/** The port to a token counter that works before the model server has counted. */
import type { ModelRequest } from '../protocol/model-request.ts';

/** Counts the tokens of one model request. Rejects with the signal's reason. */
export type TokenCounter = (request: ModelRequest, signal: AbortSignal) => Promise<number>;
