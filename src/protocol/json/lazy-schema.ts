/** Schemas that are made when they are first used, so that importing this package does not load zod. */
import type { z } from 'zod';
import { zod } from './packages.cjs';

type Zod = typeof z;

/** A function that makes the schema, or several of them, at its first call. */
export function lazily<Made>(make: (z: Zod) => Made): () => Made {
  let made: { readonly value: Made } | undefined;
  return () => {
    made ??= { value: make(zod().z) };
    return made.value;
  };
}
