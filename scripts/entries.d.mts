/** The types of `entries.mjs`. */

/** Throws if an entry has not both formats, each with its types first. */
export declare function entriesOf(exports: Readonly<Record<string, unknown>>): readonly string[];

export declare function esmEntry(
  entry: string,
  names: readonly string[],
): { readonly code: string; readonly types: string };
