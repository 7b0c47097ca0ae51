/** The error for everything that the egress guard refuses or cuts. */

/** The fault: refused before anything was sent, or cut during the answer. */
export type EgressErrorCode =
  | 'url_refused'
  | 'host_refused'
  | 'request_refused'
  | 'address_refused'
  | 'unresolved'
  | 'redirect_refused'
  | 'answer_too_large'
  | 'answer_too_slow';

/**
 * A request that was not sent, or an answer that was cut. `message` names the host and no secret; `cause`, for logs, may
 * contain an address. An untrusted caller who can distinguish `host_refused`, `address_refused` and `unresolved` learns
 * which names exist in this machine's network: show the same error for all three.
 */
export class EgressError extends Error {
  override readonly name = 'EgressError';
  /** The reason, for programs. */
  readonly code: EgressErrorCode;

  constructor(code: EgressErrorCode, target: string, reason: string, options?: ErrorOptions) {
    super(`Egress to ${target} refused: ${reason}.`, options);
    this.code = code;
  }
}

const MAX_TARGET_LENGTH = 120;

/** A URL as messages may show it: path, query, user and password may all be secret. */
export function errorTarget({ protocol, host }: URL): string {
  const target = `${protocol}//${host}`;
  return target.length > MAX_TARGET_LENGTH ? `${target.slice(0, MAX_TARGET_LENGTH)}…` : target;
}
