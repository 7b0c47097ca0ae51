/** What a plan of PostgreSQL has read, from `EXPLAIN (ANALYZE, FORMAT JSON)`. */

interface PlanNode {
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Join Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** The most rows that one part of the plan has read. */
export function mostRowsIn(rows: readonly { readonly 'QUERY PLAN': readonly { readonly Plan: PlanNode }[] }[]): number {
  const plans = rows.flatMap((row) => row['QUERY PLAN'].map(({ Plan }) => Plan));
  return Math.max(...plans.flatMap(nodesOf).map(rowsRead));
}

function nodesOf(node: PlanNode): readonly PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

function rowsRead(node: PlanNode): number {
  const { 'Actual Rows': rows, 'Actual Loops': loops } = node;
  return (rows + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Join Filter'] ?? 0)) * loops;
}
