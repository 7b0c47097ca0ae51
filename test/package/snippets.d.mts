/** Every `ts` and `js` block of README and docs, each as a module with a file name of its own. */
export function snippets(): readonly { readonly file: string; readonly code: string }[];
/** The same for a CommonJS file, which has no `await` outside of functions. */
export function withoutTopLevelAwait(code: string): string;
