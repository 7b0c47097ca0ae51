/** The port to a model that turns texts into vectors. */

/** Embeds texts. */
export interface Embedder {
  /** A short name for messages, such as the model's. */
  readonly name: string;
  /**
   * The embeddings of the texts in their order, all of one length. Rejects with the signal's reason once aborted, and with an error
   * whose `retryable` is true where the same call may succeed later.
   */
  embed(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]>;
  /** Releases what it holds. May be called twice. */
  readonly close?: (() => Promise<void>) | undefined;
}

/** Embedding failed. The message is fit for clients; the `cause`, if any, is for your logs. */
export class EmbeddingError extends Error {
  override readonly name = 'EmbeddingError';
  /** Whether the same call may succeed later: the server is down, busy or limits the rate. */
  readonly retryable: boolean;

  constructor(message: string, { retryable, ...options }: ErrorOptions & { readonly retryable: boolean }) {
    super(message, options);
    this.retryable = retryable;
  }
}
