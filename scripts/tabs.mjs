/** Indents compiled code with tabs, for a package that is a tenth smaller; text that goes over several lines stays as it is. */
import { parseSync } from '@swc/core';

const INDENT = /^(?: {4})+/;

/** The lines of CommonJS code as the compiler writes it, which begins with `"use strict"`. */
export function codeWithTabs(code) {
  const inText = linesInText(code);
  return code
    .split('\n')
    .map((line, at) => (inText.has(at) ? line : withTabs(line)))
    .join('\n');
}

/** The lines of declarations, which have no such text. */
export function typesWithTabs(types) {
  return types.split('\n').map(withTabs).join('\n');
}

function withTabs(line) {
  return line.replace(INDENT, (spaces) => '\t'.repeat(spaces.length / 4));
}

/** The lines that begin inside of a template literal. */
function linesInText(code) {
  const bytes = Buffer.from(code);
  const tree = parseSync(code, { syntax: 'ecmascript', target: 'es2023' });
  const lines = new Set();
  visit(tree, ({ type, span }) => {
    if (type !== 'TemplateElement') return;
    // Positions count bytes, from where the last parsed file ended.
    const [start, end] = [span.start, span.end].map((position) => position - tree.span.start);
    const first = newlinesIn(bytes.subarray(0, start));
    for (let line = 1; line <= newlinesIn(bytes.subarray(start, end)); line += 1) lines.add(first + line);
  });
  return lines;
}

function newlinesIn(bytes) {
  return bytes.toString().split('\n').length - 1;
}

function visit(value, look) {
  if (typeof value !== 'object' || value === null) return;
  look(value);
  for (const child of Object.values(value)) visit(child, look);
}
