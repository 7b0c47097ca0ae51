/** One event of a Responses stream, as clients read it. */

/** Its fields but for `sequence_number`, which stands behind the type when the event is written. */
export type WireEvent = Readonly<Record<string, unknown>> & { readonly type: string };
