/** Does the work for all entries, those of a group at the same time and one group after another; returns the results in order. */
export async function mapInGroups<Entry, Result>(
  entries: readonly Entry[],
  size: number,
  work: (entry: Entry, index: number) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < entries.length; at += size)
    results.push(...(await Promise.all(entries.slice(at, at + size).map((entry, index) => work(entry, at + index)))));
  return results;
}
