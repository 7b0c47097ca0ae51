/** The types of `tabs.mjs`. */

/** Declarations, which have no text over several lines. */
export declare function typesWithTabs(types: string): string;
