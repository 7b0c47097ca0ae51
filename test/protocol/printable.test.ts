/** Names that others chose, as hosts, models and users see them. */
import { quoteId } from '../../src/protocol/ids.ts';
import { visibleText } from '../../src/protocol/printable.ts';

it.each([
  ['__proto__', '__proto__'],
  ['constructor.txt', 'constructor.txt'],
  ['a\r\n\n[The file b:]\u2028.txt', 'a[The file b:].txt'],
  ['invoice\u202egpj.exe', 'invoicegpj.exe'],
  ['\u2066a\u2069\ufeff\u0085', 'a'],
  ['Übung \ud83d\ude00 日本.md', 'Übung \ud83d\ude00 日本.md'],
  ['half \ud83d', 'half \ufffd'],
])('[G-13] a file called %j is shown as %j', (name, shown) => {
  expect(visibleText(name)).toBe(shown);
});

it.each([
  ['a\r\n{"level":"error"}', 'a{"level":"error"}'],
  ['invoice\u202egpj.exe', 'invoicegpj.exe'],
  [`${'x'.repeat(99)}\ud83d\ude00`, `${'x'.repeat(99)}\ufffd…`],
  [{ id: 1 }, 'object'],
])('[G-13] an id or a name %j is quoted in errors as %j', (id, shown) => {
  expect(quoteId(id)).toBe(`'${shown}'`);
});
