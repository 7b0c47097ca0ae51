/** The types of `built.mjs`. */
export function buildRecord(root: string): { isCurrent(): boolean; write(): void };
