/** Bounds the byte arrays of a thread: they are outside the heap that `resourceLimits` bounds. */

/** Smaller arrays are not checked: measuring the memory in use would cost more. */
const SMALL = 65_536;

/**
 * From now on the thread's `new Uint8Array` throws once its arrays have so many bytes more than now; the result is whether
 * that happened. Decompressors that allocate outside of it are removed, so that libraries use arrays.
 */
export function boundArrays(maxBytes: number): () => boolean {
  let isExceeded = false;
  const maxBytesInUse = process.memoryUsage().arrayBuffers + maxBytes;
  const bounded: Uint8ArrayConstructor = new Proxy(Uint8Array, {
    construct(target, values, constructed) {
      const [size] = values;
      if (size > SMALL && process.memoryUsage().arrayBuffers + size > maxBytesInUse) {
        isExceeded = true;
        throw new RangeError('The arrays of this thread take too much memory.');
      }
      return Reflect.construct(target, values, constructed === bounded ? target : constructed);
    },
  });
  Object.assign(globalThis, { Uint8Array: bounded, DecompressionStream: undefined });
  return () => isExceeded;
}
