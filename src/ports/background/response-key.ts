/** How stores name what they keep. */

/** A value now or later; memory returns at once, a database later. */
export type MaybePromise<T> = T | Promise<T>;

/** The tenant and the id of a response: no store method takes an id without its scope. */
export interface ResponseKey {
  /** The tenant, as the `scope` option returns it. */
  readonly scope: string;
  /** The id in the API, such as `resp_…` or `conv_…`; unique in its scope. */
  readonly id: string;
}
