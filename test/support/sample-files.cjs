/**
 * Jest's filter of test files in a sampled run: SAMPLE_FILES=2 takes one of each two neighbours by path, so that most folders are
 * in each run, and SEED decides which. The set-up of a file costs as much as many of its tests.
 */
const { seedFor } = require('./seed.cjs');

module.exports = async (/** @type {readonly string[]} */ paths) => {
  const share = Number(process.env.SAMPLE_FILES);
  if (!(Number.isInteger(share) && share >= 1))
    throw new TypeError(`SAMPLE_FILES must be a whole number of 1 or more, got ${process.env.SAMPLE_FILES}`);
  const sorted = [...paths].sort();
  const groups = Array.from({ length: Math.ceil(sorted.length / share) }, (_, index) =>
    sorted.slice(index * share, (index + 1) * share),
  );
  return { filtered: groups.map((group, index) => group[seedFor(`files\0${index}`) % group.length]) };
};
