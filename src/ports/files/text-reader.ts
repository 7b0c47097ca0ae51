/** The port that reads the text of documents. */

/** A document to read. */
export interface TextDocument {
  /** The client's name for it: a hint of its type and text for messages, never a path. */
  readonly filename: string;
  /** The type that the client names, such as `application/pdf`: the last hint. */
  readonly contentType?: string | undefined;
  /** Its tenant, for whom it waits its turn; all documents without one share a turn. */
  readonly scope?: string | undefined;
  /** Its length. */
  readonly bytes: number;
  /** Opens its bytes; called at most once. */
  readonly content: () => Promise<AsyncIterable<Uint8Array>>;
}

/** Reads the text of documents. `documentText()` makes one. */
export interface TextReader {
  /** A short name for messages. */
  readonly name: string;
  /**
   * The document's text, page by page where it has pages. Rejects with the signal's reason once aborted, and with an `ApiError`:
   * `unsupported_file` for a type that it does not know, `invalid_file` for a document that is broken or encrypted,
   * `file_too_large` for one that takes more bytes, pages, text, memory or time than allowed, and `too_many_documents`
   * while too many others are read.
   */
  read(document: TextDocument, signal: AbortSignal): Promise<string>;
  /** Releases what it holds. May be called twice. */
  readonly close?: (() => Promise<void>) | undefined;
}
