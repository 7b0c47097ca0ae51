/** Texts in commands that are shown to be copied into a shell. */

/** Quotes for a shell, which takes everything between single quotes literally except a single quote. */
export function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
