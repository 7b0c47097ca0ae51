/** What the host and a container say to each other; apart from the frames, because the realm of the code has no Buffer. */

/** What a frame carries. A message is a list of frames of one question that `done` ends; a file is a `name` and the `data` after it. */
export const KINDS = ['done', 'code', 'name', 'data', 'stdout', 'stderr', 'result', 'error', 'refused'] as const;

/** One of them; on the wire, its place in the list. */
export type Kind = (typeof KINDS)[number];

/** The most that one frame carries; more is sent as several frames of the same kind, which belong together. */
export const FRAME_BYTES = 65_536;
