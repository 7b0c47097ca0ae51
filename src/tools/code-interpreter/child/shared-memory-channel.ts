/** The only way out of the code's realm: memory shared with the process, so that the realm holds no function or object of Node. */
import { FRAME_BYTES, KINDS, type Kind } from '../shared/kinds.ts';

/** Kept from the code, which may put anything in their place, or not have them. */
const { load, store, notify } = Atomics;

/** The cells of the memory: whether there is a frame, its kind and its length; its bytes come after them. */
const STATE = 0;
export const KIND = 1;
export const LENGTH = 2;
export const EMPTY = 0;
const FULL = 1;
const CELLS = 4;
export const BYTES_AT = CELLS * Int32Array.BYTES_PER_ELEMENT;

/** The realm's side. Code that gets hold of it can send nothing that it could not have printed. */
interface SharedMemoryChannel {
  readonly memory: SharedArrayBuffer;
  /** Resolves when the process has taken all but the last frame. One caller at a time. */
  send(kind: Kind, data: Uint8Array): Promise<void>;
}

/** Opens a channel over new memory. */
export function openChannel(): SharedMemoryChannel {
  const memory = new SharedArrayBuffer(BYTES_AT + FRAME_BYTES);
  const cells = new Int32Array(memory, 0, CELLS);
  const bytes = new Uint8Array(memory, BYTES_AT);
  return {
    memory,
    async send(kind, data) {
      for (let at = 0; at === 0 || at < data.length; at += FRAME_BYTES) {
        await waitWhileState(FULL, cells);
        const part = data.subarray(at, at + FRAME_BYTES);
        bytes.set(part);
        cells[KIND] = KINDS.indexOf(kind);
        cells[LENGTH] = part.length;
        publishState(FULL, cells);
      }
    },
  };
}

/** Sets the state and notifies the other side of the memory. */
export function publishState(state: number, cells: Int32Array<SharedArrayBuffer>): void {
  store(cells, STATE, state);
  notify(cells, STATE);
}

/** Resolves when the other side has changed the state. */
export async function waitWhileState(state: number, cells: Int32Array<SharedArrayBuffer>): Promise<void> {
  while (load(cells, STATE) === state) await waitAsync(cells, STATE, state).value;
}

/** Waits until the cell is notified or the timeout expires. */
export const waitAsync = (Atomics as unknown as Waiting).waitAsync;

/** The cast: every engine that runs this has it, the types of ES2023 do not. */
interface Waiting {
  waitAsync(
    cells: Int32Array<SharedArrayBuffer>,
    index: number,
    value: number,
    ms?: number,
  ): { readonly value: Promise<string> | string };
}
