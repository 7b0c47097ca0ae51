/**
 * Jest runs the TypeScript sources as ES modules; EXPRESS, a path, swaps the Express that everything imports, and
 * MCP_SDK=v1 takes `@modelcontextprotocol/client` away.
 */
import { readFileSync } from 'node:fs';

const express = process.env.EXPRESS ?? 'express';
/** The package's name leads to the sources of its entries. */
const entries = Object.entries(JSON.parse(readFileSync(new URL('entries.json', import.meta.url), 'utf8'))).map(
  ([name, source]) => [`^express-open-responses${name.slice(1)}$`, `<rootDir>/${source}`],
);
/** What takes more than some seconds (recordings byte by byte, floods, outages, laws over thousands of turns) is run apart, as SLOW=1. */
const SLOW_TESTS = '**/test/**/*.slow.test.ts';
/** Attacks, each of which says what it tried and counts: `npm run test:hostile` runs them, as HOSTILE=1. */
const HOSTILE_TESTS = '**/test/hostile/**/*.test.ts';
/** What only a clock can tell, as how long a pattern takes for eight times the text: `npm run test:clock` runs these on a quiet machine, as CLOCK=1. */
const CLOCK_TESTS = '**/test/**/*.clock.test.ts';
/** Clients whose packages are large: `npm run test:clients` installs them and runs these, as CLIENTS=1. */
const CLIENT_TESTS = '**/test/clients/**/*.test.ts';

/** Several processes over one database, some of which are killed: `npm run test:cluster` runs these, as CLUSTER=1. */
const CLUSTER_TESTS = '**/test/cluster/**/*.test.ts';
/** The inspector's page in Debian's Chromium: `npm run test:browser` installs what drives it and runs these, as BROWSER=1. */
const BROWSER_TESTS = '**/test/browser/**/*.test.ts';
/** The examples of other frameworks and runtimes: `npm run test:frameworks` installs these and runs them, as FRAMEWORKS=1. */
const FRAMEWORK_TESTS = '**/test/frameworks/**/*.test.ts';
/** What takes minutes of waiting, as installed: `npm run test:long` runs these, as LONG=1. */
const LONG_TESTS = '**/test/**/*.long.test.ts';
/** A real model server of PyPI: `npm run test:live` installs it and runs these, as LIVE=1. */
const LIVE_TESTS = '**/test/live/**/*.test.ts';
/** What only a command of its own runs. */
const OTHERS = [
  ...[LONG_TESTS, HOSTILE_TESTS, CLIENT_TESTS, CLUSTER_TESTS, BROWSER_TESTS, FRAMEWORK_TESTS, LIVE_TESTS],
].map((tests) => `!${tests}`);

function testsToRun({ CLOCK, ...modes }) {
  return CLOCK ? [CLOCK_TESTS] : [...testsOfMode(modes), `!${CLOCK_TESTS}`];
}

function testsOfMode({ LIVE, LONG, SLOW, HOSTILE, CLIENTS, CLUSTER, BROWSER, FRAMEWORKS, EXPRESS }) {
  if (LIVE) return [LIVE_TESTS];
  if (LONG) return [LONG_TESTS];
  if (HOSTILE) return [HOSTILE_TESTS];
  if (CLIENTS) return [CLIENT_TESTS];
  if (CLUSTER) return [CLUSTER_TESTS];
  if (BROWSER) return [BROWSER_TESTS];
  if (FRAMEWORKS) return [FRAMEWORK_TESTS];
  if (EXPRESS) return ['<rootDir>/test/**/*.test.ts', ...OTHERS];
  if (SLOW) return [SLOW_TESTS];
  return ['<rootDir>/test/**/*.test.ts', `!${SLOW_TESTS}`, ...OTHERS];
}

export default {
  testEnvironment: 'node',
  testMatch: testsToRun(process.env),
  // A part of the files and of their tests, which changes with SEED: `.ci/run`.
  ...(process.env.SAMPLE_FILES ? { filter: '<rootDir>/test/support/sample-files.cjs' } : {}),
  setupFilesAfterEnv: process.env.SAMPLE ? ['<rootDir>/test/support/sample-tests.ts'] : [],
  reporters: ['default', '<rootDir>/test/support/skip-report.mjs'],
  // Copies of the examples, whose names are taken.
  modulePathIgnorePatterns: ['<rootDir>/test/frameworks/build/'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'es6' }, sourceMaps: 'inline' },
    ],
  },
  moduleNameMapper: {
    '^express$': express,
    '^fast-check$': '<rootDir>/test/support/fast-check.ts',
    ...(process.env.MCP_SDK === 'v1' ? { '^.*/installed\\.ts$': '<rootDir>/test/support/mcp-sdk-v1.ts' } : {}),
    '^@aws-sdk/client-s3$': '<rootDir>/test/clients/node_modules/@aws-sdk/client-s3',
    ...Object.fromEntries(entries),
  },
  // Most tests wait for sockets and timers: jest's default, a worker less than there are cores, leaves one idle.
  maxWorkers: '100%',
  // Jest keeps the modules of files that have run; a worker with hundreds of them is slow, above all to count work.
  workerIdleMemoryLimit: '600MB',
  // For the busiest machine: no test waits for it, but one that hangs.
  testTimeout:
    process.env.LONG || process.env.LIVE
      ? 600_000
      : ['CLOCK', 'SLOW', 'HOSTILE', 'CLIENTS', 'CLUSTER', 'BROWSER', 'FRAMEWORKS', 'EXPRESS'].some(
            (suite) => process.env[suite],
          )
        ? 240_000
        : 120_000,
};
