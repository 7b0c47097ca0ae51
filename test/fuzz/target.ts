/** What a target of the fuzzer is: inputs, and what must hold for each. */
import type fc from 'fast-check';
import type { World } from './world.ts';

/** One parser or endpoint. `Input` is plain JSON, so that a case can be kept in a file. */
export interface Target<Input> {
  readonly name: string;
  /** How many cases it gets, beside the others. */
  readonly weight: number;
  readonly inputs: fc.Arbitrary<Input>;
  /** Throws where a law is broken. */
  run(input: Input, world: World): Promise<void> | void;
}

/** A target whose kind of input does not matter. */
export type AnyTarget = Target<unknown>;
