/** Answers of an MCP server as text. */
export const LONG: string;
export const LONGER: string;
/** The text of the answer to the message; undefined if it needs none. */
export function rawAnswer(line: string): string | undefined;
