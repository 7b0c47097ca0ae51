/** Requests without a body: cursors, pages and places in streams, of every store, and ids of all kinds. */
import fc from 'fast-check';
import { law } from '../../support/law.ts';
import { expectObject, expectRefusal } from '../answers.ts';
import type { Target } from '../target.ts';
import { named } from './requests.ts';

interface Input {
  readonly method: string;
  readonly path: string;
  readonly query: readonly (readonly [name: string, value: string])[];
}

/** Any characters; a URL cannot hold half of one. */
const odd = fc.string({ unit: 'binary' });

const ids = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('{at.response}', '{at.conversation}', '{at.item}', '{at.background}') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('__proto__', 'resp_0', '%00', '..%2f', '%ff', 'conv_', 'x'.repeat(3000), '%F0%9F'),
  },
  { weight: 1, arbitrary: odd.map(encodeURIComponent) },
);
const paths = fc.tuple(ids, ids, fc.constantFrom('/v1', '/sqlite')).chain(([id, item, mount]) => {
  const own = (each: string) => each.replace('at', mount.slice(1));
  const below = [
    ...['/responses/{at.response}/input_items', '/responses/{at.background}', '/conversations/{at.conversation}/items'],
    ...[`/responses/${id}`, `/responses/${id}/input_items`, `/conversations/${id}`, `/conversations/${id}/items`],
    ...[`/conversations/${id}/items/${item}`, '/models', '/files', `/files/${id}`, `/files/${id}/content`],
  ];
  return fc.constantFrom(...below).map((path) => mount + own(own(path)));
});
const names = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.constantFrom(
      'limit',
      'order',
      'after',
      'before',
      'starting_after',
      'include',
      'include[]',
      'purpose',
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom('__proto__', 'after[__proto__]', 'include_obfuscation', 'limit[]', '', 'x') },
);
const values = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom('1', '20', '100', 'asc', 'desc', '0', '-1', '101', '1e9', '1.5', 'true', ''),
  },
  { weight: 3, arbitrary: fc.constantFrom('{v1.item}', '{sqlite.item}', '{v1.response}', 'msg_0', '3', '999999999') },
  { weight: 1, arbitrary: odd },
);

const queries: Target<Input> = {
  name: 'cursors and queries',
  weight: 14,
  inputs: fc.record({
    method: fc.constantFrom('GET', 'GET', 'GET', 'GET', 'GET', 'GET', 'DELETE'),
    path: paths,
    query: fc.oneof(
      fc.array(fc.tuple(names, values), { maxLength: 4 }),
      fc.tuple(fc.constant(['stream', 'true'] as const), fc.tuple(fc.constant('starting_after'), values)),
    ),
  }),
  async run({ method, path, query }, world) {
    // What the other cases need stays.
    if (method === 'DELETE' && path.includes('{')) return;
    const written = query.map(
      ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(named(value, world))}`,
    );
    const got = await world.send({ method, path: `${named(path, world)}?${written.join('&')}` });
    law(!got.isCut, 'an answer ends in good order', got);
    if (isNotOurs(got.status, got.type)) return;
    if (got.status >= 400) return expectRefusal('responses', got);
    if (got.type.startsWith('application/json')) return expectObject(JSON.parse(got.text));
    law(/^$|\n\n$/.test(got.text), 'a stream ends with a whole frame', got);
  },
};

/** Paths that no route takes are the host's, which says so in its own words. */
function isNotOurs(status: number, type: string): boolean {
  return (status === 404 || status === 400) && type.startsWith('text/html');
}

/** What the inspector shows of what was seen last. */
const inspector: Target<{ readonly path: string; readonly query: Input['query'] }> = {
  name: 'inspector',
  weight: 5,
  inputs: fc.record({
    path: fc.oneof(
      fc.constantFrom('responses', 'conversations', 'tools', 'upstreams', 'about', 'responses/1', 'responses/9e9', ''),
      fc.nat(200).map((number) => `responses/${number}`),
      odd.map(encodeURIComponent),
    ),
    query: fc.array(
      fc.tuple(
        fc.constantFrom('before', 'after', 'from', 'limit', 'tenant', 'status', 'search', 'id', 'part', 'x'),
        values,
      ),
      {
        maxLength: 4,
      },
    ),
  }),
  async run({ path, query }, world) {
    const got = await world.send({
      method: 'GET',
      path: `/inspect/api/${path}?${new URLSearchParams(query.map(([name, value]): [string, string] => [name, value]))}`,
    });
    law(got.status < 500, 'the inspector does not fail', got);
    if (got.status === 200) expectObject(JSON.parse(got.text));
  },
};

/** Queries. */
export const reading = [queries, inspector] as const;
