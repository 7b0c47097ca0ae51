/** JSON bodies with some of their values changed, so that a failure shrinks to few and small changes. */
import fc from 'fast-check';

/** A parsed JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

type Path = readonly (string | number)[];

const ODD: readonly Json[] = [
  ...[null, true, false, '', ' ', 'x', '\0', '\ud800', '__proto__', 'constructor', 'auto', 'none', 'function'],
  ...[
    0,
    -1,
    1,
    0.5,
    1e9,
    1e308,
    Number.MAX_SAFE_INTEGER,
    '0',
    '1e9',
    'data:;base64,',
    'https://x',
    'file:///etc/passwd',
  ],
  ...[
    [],
    {},
    [null],
    [[]],
    [{}],
    ['x'],
    [0],
    { a: 1 },
    { type: 'x' },
    { type: 'text' },
    { type: 'message', role: 'user' },
  ],
  ...[
    'x'.repeat(5000),
    Array.from({ length: 300 }, () => 0),
    nested(90),
    { id: 'msg_1' },
    { toString: 1 },
    { length: 9 },
  ],
  ...['resp_0', 'conv_0', 'file_0', 'msg_00000000000000000000000000000000', 'a\nb', 'é'.repeat(100), '\u2028'],
];

function nested(depth: number): Json {
  return depth === 0 ? [] : [nested(depth - 1)];
}

const value: fc.Arbitrary<Json> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...ODD) },
  // The cast: a value of JSON is one.
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json> },
);

/** `graft` puts what stands in another place here; `rename` gives a field another name. */
type Edit = { readonly at: number } & (
  | { readonly what: 'set'; readonly value: Json }
  | { readonly what: 'remove' | 'double' | 'wrap' }
  | { readonly what: 'graft'; readonly from: number }
  | { readonly what: 'rename'; readonly name: string }
);

const edit: fc.Arbitrary<Edit> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ at: fc.nat(), what: fc.constant('set' as const), value }) },
  { weight: 2, arbitrary: fc.record({ at: fc.nat(), what: fc.constantFrom('remove' as const, 'double' as const) }) },
  { weight: 1, arbitrary: fc.record({ at: fc.nat(), what: fc.constant('wrap' as const) }) },
  { weight: 3, arbitrary: fc.record({ at: fc.nat(), what: fc.constant('graft' as const), from: fc.nat() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      at: fc.nat(),
      what: fc.constant('rename' as const),
      name: fc.oneof(
        fc.constantFrom('type', 'id', 'role', 'content', 'name', '__proto__', 'input', 'tools'),
        fc.string(),
      ),
    }),
  },
);

/** One of the bodies with up to five changes. */
export function editedJson(bodies: readonly Json[]): fc.Arbitrary<Json> {
  return fc
    .tuple(fc.constantFrom(...bodies), fc.array(edit, { maxLength: 5 }))
    .map(([body, edits]) => edits.reduce(edited, body));
}

function edited(body: Json, edit: Edit): Json {
  const paths = pathsIn(body);
  const path = paths[edit.at % paths.length] ?? [];
  switch (edit.what) {
    case 'set':
      return changed(body, path, () => edit.value);
    case 'remove':
      return changed(body, path, () => undefined);
    case 'wrap':
      return changed(body, path, (old) => [old]);
    case 'graft':
      return changed(body, path, () => at(body, paths[edit.from % paths.length] ?? []));
    case 'double':
      return changed(body, path, (old) => (Array.isArray(old) ? [...old, ...old] : [old, old]));
    case 'rename':
      return changed(body, path.slice(0, -1), (old) => renamed(old, path.at(-1), edit.name));
  }
}

function pathsIn(value: Json, path: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  const below = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return [path, ...below.flatMap(([key, child]) => pathsIn(child, [...path, key]))];
}

function at(value: Json, [key, ...rest]: Path): Json {
  // The cast: the path was read from this value.
  return key === undefined ? value : at((value as { readonly [name: string]: Json })[key] as Json, rest);
}

/** A copy with another value in one place; `undefined` removes it. */
function changed(value: Json, [key, ...rest]: Path, to: (old: Json) => Json | undefined): Json {
  if (key === undefined) return to(value) ?? null;
  if (Array.isArray(value)) {
    const next = rest.length > 0 ? changed(value[Number(key)], rest, to) : to(value[Number(key)]);
    return value.flatMap((old, index) => (index !== key ? [old] : next === undefined ? [] : [next]));
  }
  const fields = Object.entries(value as { readonly [name: string]: Json });
  return Object.fromEntries(
    fields.flatMap(([name, old]) => {
      if (name !== key) return [[name, old]];
      const next = rest.length > 0 ? changed(old, rest, to) : to(old);
      return next === undefined ? [] : [[name, next]];
    }),
  );
}

function renamed(value: Json, key: string | number | undefined, name: string): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([each, old]) => [each === key ? name : each, old]));
}
