/** What decides the seeds of laws and, in a sampled run, which tests run: SEED, a text such as a commit. */
import { createHash } from 'node:crypto';

/** A number that SEED and the name decide, from 0 to 2^31 - 1: the same in every run with the same SEED. */
export function seedFor(name: string): number {
  const seed = process.env.SEED ?? '';
  return createHash('sha256').update(`${seed}\0${name}`).digest().readUInt32BE() >>> 1;
}

/** Functions of jest's that register a test. */
type Register = typeof it;

/**
 * The same functions for a sample: about one test in `share`, which SEED decides, and of a table about one row in `share`. The first test of a file is always
 * part of it, since jest refuses a file without tests.
 */
export function sampled(register: Register, file: string, share: number): Register {
  let isFirst = true;
  function isTaken(name: string): boolean {
    const taken = isFirst || seedFor(`${file}\0${name}`) % share === 0;
    isFirst = false;
    return taken;
  }
  function sampling(one: typeof it): Register {
    const each = (table: readonly unknown[], ...values: unknown[]) => {
      // A table that is written as a template is taken whole.
      if ('raw' in table) return one.each(table as unknown as TemplateStringsArray, ...values);
      return (name: string, ...rest: [jest.EmptyFunction, number?]) => {
        const rows = table.filter((_, index) => isTaken(`${name}\0${index}`));
        if (rows.length > 0) one.each(rows as unknown[])(name, ...rest);
      };
    };
    const registerSampled = (name: string, ...rest: [jest.ProvidesCallback?, number?]) => {
      if (isTaken(name)) one(name, ...rest);
    };
    // The cast: `skip`, `only` and the like are those of jest.
    return Object.assign(registerSampled, one, { each }) as unknown as Register;
  }
  return sampling(register);
}
