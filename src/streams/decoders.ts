/** Decodes bodies that somebody has compressed, by the name of the coding. */
import * as zlib from 'node:zlib';

/** Node 20 has none, nor its types. */
const { createZstdDecompress } = zlib as { readonly createZstdDecompress?: () => zlib.Gunzip };

/** A stream from compressed bytes to plain ones. */
export type Decoder = zlib.Gunzip | zlib.BrotliDecompress;

/** Creates a decoder, by the coding in lower case. */
export const DECODERS: ReadonlyMap<string, (() => Decoder) | undefined> = new Map([
  ['gzip', () => zlib.createGunzip()],
  ['x-gzip', () => zlib.createGunzip()],
  ['deflate', () => zlib.createInflate()],
  ['br', () => zlib.createBrotliDecompress()],
  ['zstd', createZstdDecompress],
]);
