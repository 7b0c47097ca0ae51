/** The types of `public-types.mjs`. */

/** Throws for a form of import or export that it does not know. */
export declare function keepPublicTypes(folder: string, entries: readonly string[]): void;
