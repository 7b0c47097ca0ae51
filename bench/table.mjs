/** Tables of figures: the median of the rounds and their range. */

/** The one in the middle; of an even number the upper one. */
export function median(values) {
  return values.toSorted((one, other) => one - other)[values.length >> 1];
}

function numberOf(value, digits) {
  return Number.isFinite(value) ? value.toFixed(digits) : '–';
}

/** The median and, where they differ, the least and the greatest. */
export function cellOf(values = [], digits = 2) {
  const known = values.filter(Number.isFinite);
  const [middle, least, most] = [median(known), Math.min(...known), Math.max(...known)].map((value) =>
    numberOf(value, digits),
  );
  return least === most ? middle : `${middle} (${least}–${most})`;
}

/** How many times the yardstick it is, by medians; NaN where the yardstick is not above zero. */
export function ratioOf(values = [], yardstick = []) {
  const [value, of] = [values, yardstick].map(median);
  // What the noise of a busy machine has hidden is nothing to compare with.
  return of > 0 ? value / of : Number.NaN;
}

/**
 * The table of a report: a column has a `key` into each row's `values`, a `title`, `digits`, and `ratio` where it is also
 * shown against the first row's. A row without values says why in its `note`.
 */
export function tableOf({ columns, rows }) {
  const shown = columns.flatMap((column) => (column.ratio ? [column, { ...column, against: rows[0] }] : [column]));
  const cell = (row, { key, digits, against }) =>
    against ? numberOf(ratioOf(row.values[key], against.values[key]), 2) : cellOf(row.values[key], digits);
  const body = rows.map((row) => [row.name, ...shown.map((column) => cell(row, column)), row.note ?? '']);
  const titles = shown.map(({ title, against }) => (against ? `× ${against.name}` : title));
  return markdown([['', ...titles, ''], ...body]);
}

/** Rows of cells, the first of which is the head; columns that are empty throughout are left out. */
export function markdown(rows) {
  const columns = rows[0].map((_, index) => index).filter((index) => rows.some((row) => row[index] !== ''));
  const line = (cells) => `| ${cells.join(' | ')} |`;
  const [head, ...body] = rows.map((row) => columns.map((index) => row[index]));
  return [line(head), line(head.map(() => '---')), ...body.map(line)].join('\n');
}
