/** Lets plain Node run the TypeScript sources, as Jest does, for scripts that need a process of their own. */
import { readFile } from 'node:fs/promises';
import { register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { transform } from '@swc/core';

// Node loads the hooks below in a thread of their own, from this same file.
if (isMainThread) register(import.meta.url);

/** EXPRESS, a path, swaps the Express that everything imports. */
export function resolve(specifier, context, next) {
  return next(specifier === 'express' ? (process.env.EXPRESS ?? specifier) : specifier, context);
}

/** Strips the types. */
export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const options = { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'es6' } };
  const { code } = await transform(await readFile(fileURLToPath(url), 'utf8'), options);
  return { format: 'module', source: code, shortCircuit: true };
}
