/** The model's names for tools: with the characters and the length that model servers accept. */
import { createHash } from 'node:crypto';

const MAX_NAME = 64;
const HASH = 10;

/** The name as servers accept it; a changed name stays distinct by a digest. */
export function toModelSafeName(name: string): string {
  const plain = name.replace(/[^\w-]/g, '_');
  return plain.length > MAX_NAME ? digestedName(plain, name) : plain;
}

/** The name cut to leave room for a digest of `whole`. */
export function digestedName(name: string, whole: string): string {
  const digest = createHash('sha1').update(whole).digest('hex').slice(0, HASH);
  return `${name.slice(0, MAX_NAME - HASH - 1)}_${digest}`;
}

/** A tool of a client's namespace; models have no namespaces. */
export function namespacedName(namespace: string, name: string): string {
  return toModelSafeName(`${namespace}__${name}`);
}
