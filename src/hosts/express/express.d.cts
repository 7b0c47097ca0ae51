/** The types of `express.cjs`. */

/** The package, loaded by the first call. */
export declare const express: () => typeof import('express');
