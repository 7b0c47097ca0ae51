/** A number that SEED, a text such as a commit, and the name decide, from 0 to 2^31 - 1: the same in every run with the same SEED. */
export function seedFor(name: string): number;
