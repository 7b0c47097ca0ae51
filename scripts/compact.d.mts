/** The types of `compact.mjs`. */

/** CommonJS code without spaces, and with short names of local variables. */
export declare function compact(code: string): string;
