/** Lists, after everything else, what was skipped and why: skipped tests say it in their names, as "(skipped: reason)". */

const REASON = /\(skipped: (.+?)\)(?= |$)/;
const NO_REASON = 'for a reason that their names do not say';

/** A reporter of jest's. */
export default class SkipReport {
  constructor({ testNamePattern }) {
    this.isWhole = !testNamePattern;
  }

  onRunComplete(_contexts, { testResults }) {
    const reasons = skippedBy(testResults);
    if (!this.isWhole || reasons.size === 0) return;
    const lines = [...reasons].map(([reason, { tests, files }]) => `  ${tests} in ${files.size} files: ${reason}`);
    process.stderr.write(`\nSkipped tests:\n${lines.join('\n')}\n`);
  }
}

/** How many tests of which files each reason skipped. */
export function skippedBy(testResults) {
  const reasons = new Map();
  for (const { testFilePath, testResults: tests } of testResults) {
    for (const { status, fullName } of tests) {
      if (status === 'pending' || status === 'todo') count(reasons, reasonIn(fullName), testFilePath);
    }
  }
  return reasons;
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
