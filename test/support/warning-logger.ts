/** A host's logger that keeps the texts of its warnings. */
import type { Logger } from '../../src/index.ts';

/** Adds the message of each warning to the list; other lines are dropped. */
export function warningLogger(warnings: string[]): Logger {
  return { debug() {}, info() {}, error() {}, warn: (message) => void warnings.push(message) };
}
