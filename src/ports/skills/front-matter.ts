/** Reads the front matter of a `SKILL.md`: the name and the description of the skill. */

/** The most lines of front matter. */
const MAX_LINES = 64;

/**
 * The fields between the first two lines of `---`, as texts: on one line, plain or quoted, or on the indented lines that follow.
 * Undefined for a text without front matter.
 */
export function frontMatter(text: string): ReadonlyMap<string, string> | undefined {
  const lines = text.replace(/^\ufeff/, '').split('\n', MAX_LINES);
  if (lines[0]?.trim() !== '---') return undefined;
  const end = lines.findIndex((line, at) => at > 0 && line.trim() === '---');
  if (end < 0) return undefined;
  const fields = new Map<string, string>();
  for (let at = 1; at < end; at += 1) {
    const line = lines[at] ?? '';
    const colon = line.indexOf(':');
    if (colon < 1 || /^[\s#-]/.test(line)) continue;
    const parts = [line.slice(colon + 1).trim()];
    // A long text is folded over indented lines; a mark such as `>-` says how.
    for (; at + 1 < end && /^\s+\S/.test(lines[at + 1] ?? ''); at += 1) parts.push((lines[at + 1] ?? '').trim());
    if (parts.length > 1 && /^[>|][+-]?$/.test(parts[0] ?? '')) parts.shift();
    fields.set(line.slice(0, colon).trim(), unquoted(parts.join(' ').trim()));
  }
  return fields;
}

function unquoted(value: string): string {
  const [first = ''] = value;
  const isQuoted = (first === '"' || first === "'") && value.length > 1 && value.endsWith(first);
  return isQuoted ? value.slice(1, -1) : value;
}
