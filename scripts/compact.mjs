/** Minifies compiled code: no spaces and short names of local variables, but a line for each statement. */
import { parseAst } from '@rollup/wasm-node/parseAst';
import { minifySync } from '@swc/core';

/** Simpler expressions, but no statements joined, and no function moved into another. */
const COMPRESS = {
  sequences: false,
  inline: 0,
  reduce_vars: false,
  hoist_props: false,
  keep_classnames: true,
};
/** Classes and their methods keep their names. */
const MANGLE = { toplevel: true, keep_classnames: true };

/** Characters of a block that is one line of a stack trace. */
const SHORT = 160;

/** Returns the same CommonJS code a third smaller; stack traces still show the statement, the class and the method. */
export function compact(code) {
  const { code: packed } = minifySync(code, { compress: COMPRESS, mangle: MANGLE, module: false });
  return atEach(statementsOf(parseAst(packed)), packed);
}

/** Returns the same code of an ES module without spaces; names stay. */
export function withoutSpaces(code) {
  return minifySync(code, { compress: false, mangle: false, module: true }).code;
}

function atEach(positions, code) {
  const starts = [0, ...positions.filter((start) => start > 0).sort((a, b) => a - b)];
  return `${starts.map((start, at) => code.slice(start, starts[at + 1])).join('\n')}\n`;
}

/** The positions of statements and class members, before which a line break changes nothing. Short ones stay on the line of their block. */
function statementsOf(node) {
  const found = [];
  visit(node, ({ type, body, consequent }) => {
    const list = type === 'SwitchCase' ? consequent : body;
    if (isLong(list)) for (const { start } of list) found.push(start);
  });
  return found;
}

function isLong(list) {
  return Array.isArray(list) && list.length > 0 && list.at(-1).end - list[0].start > SHORT;
}

function visit(value, look) {
  if (typeof value !== 'object' || value === null) return;
  look(value);
  for (const child of Object.values(value)) visit(child, look);
}
