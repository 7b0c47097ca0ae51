/** Runs before each file of a sampled run: SAMPLE=4 takes about one test in four. */
import { sampled } from './sample.ts';

const share = Number(process.env.SAMPLE);
if (!(share >= 1)) throw new TypeError(`SAMPLE must be a number of 1 or more, got ${process.env.SAMPLE}`);

const globals = sampled(
  { it, describe, beforeAll, afterAll, beforeEach, afterEach },
  expect.getState().testPath ?? '',
  share,
);
Object.assign(globalThis, globals, { test: globals.it });
