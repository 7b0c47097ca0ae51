/** fast-check as the tests import it: SEED decides the seed of each law, so that a run finds again what it has found. */
import fc from '../../node_modules/fast-check/lib/fast-check.js';
import { seedFor } from './seed.cjs';

if (process.env.SEED) fc.configureGlobal({ seed: seedFor('laws') });

export default fc;
