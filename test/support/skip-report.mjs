/**
 * Lists, after everything else, what was skipped and why: skipped tests say it in their names, as "(skipped: reason)". Where
 * CI=true, each skipped test must match a pattern of allowed-skips.json, or the run fails.
 */
import { readFileSync } from 'node:fs';

const REASON = /\(skipped: (.+?)\)(?= |$)/;
const NO_REASON = 'for a reason that their names do not say';
/** Skipped tests that are named before the rest is counted. */
const MOST_NAMED = 50;

/** A reporter of jest's. */
export default class SkipReport {
  constructor({ testNamePattern }) {
    this.isWhole = !testNamePattern;
    this.forbidden = [];
  }

  onRunComplete(_contexts, { testResults }) {
    const reasons = skippedBy(testResults);
    if (!this.isWhole || reasons.size === 0) return;
    const lines = [...reasons].map(([reason, { tests, files }]) => `  ${tests} in ${files.size} files: ${reason}`);
    process.stderr.write(`\nSkipped tests:\n${lines.join('\n')}\n`);
    if (process.env.CI === 'true') this.forbidden = forbiddenSkips(testResults, allowedSkips());
    const error = this.getLastError();
    if (error) process.stderr.write(`\n${error.message}\n`);
  }

  /** What jest asks for after the run: with an error, it ends with another code than 0. */
  getLastError() {
    if (this.forbidden.length === 0) return undefined;
    const more = this.forbidden.length - MOST_NAMED;
    const named = this.forbidden.slice(0, MOST_NAMED).map((name) => `  ${name}`);
    if (more > 0) named.push(`  and ${more} more`);
    return new Error(
      `CI=true, and these tests were skipped that test/support/allowed-skips.json does not name:\n${named.join('\n')}`,
    );
  }
}

/** How many tests of which files each reason skipped. */
export function skippedBy(testResults) {
  const reasons = new Map();
  for (const { fullName, testFilePath } of skipsIn(testResults)) count(reasons, reasonIn(fullName), testFilePath);
  return reasons;
}

/** The full names of the skipped tests that no pattern allows. */
export function forbiddenSkips(testResults, allowed) {
  const patterns = allowed.map(({ test }) => new RegExp(test));
  return skipsIn(testResults)
    .map(({ fullName }) => fullName)
    .filter((name) => !patterns.some((pattern) => pattern.test(name)));
}

/** The list: patterns of the full names of tests, and why each may be skipped. */
export function allowedSkips() {
  return JSON.parse(readFileSync(new URL('allowed-skips.json', import.meta.url), 'utf8'));
}

function skipsIn(testResults) {
  return testResults.flatMap(({ testFilePath, testResults: tests }) =>
    tests
      .filter(({ status }) => status === 'pending' || status === 'todo')
      .map(({ fullName }) => ({ fullName, testFilePath })),
  );
}

function reasonIn(fullName) {
  return REASON.exec(fullName)?.[1] ?? NO_REASON;
}

function count(reasons, reason, file) {
  const skipped = reasons.get(reason) ?? { tests: 0, files: new Set() };
  skipped.tests += 1;
  skipped.files.add(file);
  reasons.set(reason, skipped);
}
