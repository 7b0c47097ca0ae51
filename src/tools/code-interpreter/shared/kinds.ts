/** The kinds of frames between the host and a container; apart from the frames, because the code's realm has no Buffer. */

/** The content of a frame. A message is a list of frames of one question that `done` ends; a file is a `name` and the `data` after it; `remove` names files, one on a line, that are to be removed or have been. */
export const KINDS = [
  'done',
  'code',
  'name',
  'data',
  'stdout',
  'stderr',
  'result',
  'error',
  'refused',
  'remove',
] as const;

/** One of them; in a frame, its position in the list. */
export type Kind = (typeof KINDS)[number];

/** The maximum size of one frame; more is sent as several frames of the same kind, which belong together. */
export const FRAME_BYTES = 65_536;
