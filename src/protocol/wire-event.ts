/** One event of a Responses stream, as clients receive it. */

/** Its fields except `sequence_number`, which follows the type when the event is written. */
export type WireEvent = Readonly<Record<string, unknown>> & { readonly type: string };
