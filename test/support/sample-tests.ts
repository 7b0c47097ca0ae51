/** Runs before each file of a sampled run: SAMPLE=4 takes about one test in four. */
import { sampled } from './sample.ts';

const share = Number(process.env.SAMPLE);
if (!(share >= 1)) throw new TypeError(`SAMPLE must be a number of 1 or more, got ${process.env.SAMPLE}`);

const file = expect.getState().testPath ?? '';
globalThis.it = sampled(it, file, share);
globalThis.test = globalThis.it;
