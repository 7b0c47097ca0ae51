/** docs/upstreams.md names every option, effort and scenario that there is. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  ADAPTIVE_THINKING,
  anthropicUpstream,
  BUDGET_THINKING,
  type ThinkingTable,
} from 'express-open-responses/upstreams/anthropic';
import { responsesUpstream } from 'express-open-responses/upstreams/responses';
import { optionNames } from '../support/option-names.ts';

const text = readFileSync(join(import.meta.dirname, '../../docs/upstreams.md'), 'utf8');

/** The cells of the table whose head begins with the word. */
function table(head: string): readonly (readonly string[])[] {
  const lines = text.split('\n');
  const start = lines.findIndex((line) => new RegExp(`^\\| ${head} +\\|`).test(line));
  const end = lines.findIndex((line, index) => index > start && !line.startsWith('|'));
  const cells = lines.slice(start, end).map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
  return cells.filter((row) => !row[0]?.startsWith('---'));
}

function names(cells: readonly (string | undefined)[]): readonly string[] {
  return cells.flatMap((cell) => [...(cell ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name));
}

/** A row of efforts as the document spells it. */
function documented(efforts: readonly string[], thinking: ThinkingTable): readonly string[] {
  return efforts.map((effort) => thinking[effort]?.toLocaleString('en-US') ?? '–').map(thousands);
}

/** Numbers below ten thousand are written without a comma. */
function thousands(value: string): string {
  return /^\d,\d{3}$/.test(value) ? value.replace(',', '') : value;
}

describe('docs/upstreams.md', () => {
  it.each([
    ['Option', anthropicUpstream],
    ['Its option', responsesUpstream],
  ])('[X-07] lists the options of each upstream: %s', (head, upstream) => {
    const rows = table(head).slice(1);
    expect(names(rows.map(([name]) => name)).toSorted()).toEqual(optionNames(upstream).toSorted());
  });

  it('[X-07] lists what each effort means', () => {
    const [head = [], adaptive = [], budget = []] = table('Effort');
    const efforts = names(head);
    expect([efforts, adaptive.slice(1), budget.slice(1)]).toEqual([
      Object.keys(ADAPTIVE_THINKING),
      documented(efforts, ADAPTIVE_THINKING),
      documented(efforts, BUDGET_THINKING),
    ]);
  });

  it('[X-05] lists the scenarios of the upstream contract', () => {
    const source = readFileSync(join(import.meta.dirname, '../../src/testing/upstreams/upstream-case.ts'), 'utf8');
    const [, union = ''] = /export type UpstreamScenario =([^;]+);/.exec(source) ?? [];
    const scenarios = [...union.matchAll(/'(\w+)'/g)].map(([, name = '']) => name);
    expect(
      names(
        table('Scenario')
          .slice(1)
          .map(([name]) => name),
      ),
    ).toEqual(scenarios);
  });
});
