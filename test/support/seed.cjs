/** What SEED, a text such as a commit, decides: the seeds of laws and, in a sampled run, which files and tests run. */
const { createHash } = require('node:crypto');

/** A number that SEED and the name decide, from 0 to 2^31 - 1: the same in every run with the same SEED. */
exports.seedFor = (name) => {
  const seed = process.env.SEED ?? '';
  return createHash('sha256').update(`${seed}\0${name}`).digest().readUInt32BE() >>> 1;
};
