/** The types of `tabs.mjs`. */

/** CommonJS code as the compiler writes it. */
export declare function codeWithTabs(code: string): string;

/** Declarations, which have no text over several lines. */
export declare function typesWithTabs(types: string): string;
