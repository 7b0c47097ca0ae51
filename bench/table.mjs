/** Tables of figures: the median of the rounds and their range. */

/** The median; of an even number of values, the mean of the two in the middle. */
export function median(values) {
  const sorted = values.toSorted((one, other) => one - other);
  const upper = sorted[values.length >> 1];
  return values.length % 2 === 0 ? (sorted[(values.length >> 1) - 1] + upper) / 2 : upper;
}

function numberOf(value, digits) {
  return Number.isFinite(value) ? value.toFixed(digits) : '–';
}

/** The median and, if they differ, the least and the greatest value. */
export function cellOf(values = [], digits = 2) {
  const known = values.filter(Number.isFinite);
  const [middle, least, most] = [median(known), Math.min(...known), Math.max(...known)].map((value) =>
    numberOf(value, digits),
  );
  return least === most ? middle : `${middle} (${least}–${most})`;
}

/** The ratio to the baseline, by medians; NaN if the baseline is not above zero. */
export function ratioOf(values = [], baseline = []) {
  const [value, of] = [values, baseline].map(median);
  // Nothing can be compared with a baseline that is lost in noise.
  return of > 0 ? value / of : Number.NaN;
}

/**
 * The table of a report: a column has a `key` into each row's `values`, a `title`, `digits`, and `ratio` if it is also
 * shown relative to the first row. A row without values has the reason in its `note`.
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
