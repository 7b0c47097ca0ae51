/** The types of `packages.cjs`. */

/** The package, loaded by the first call. */
export declare const undici: () => typeof import('undici');

/** The package, loaded by the first call. */
export declare const zod: () => typeof import('zod');
