/** The list of what guards do not read: docs/guards.md and the code have the same. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BODY, PIECE, type Position, UNREAD } from '../../../src/engine/guarding/texts/positions.ts';

const ROWS: Readonly<Record<keyof typeof UNREAD, string>> = {
  piece: 'items, messages, parts, blocks, deltas, choices, sources, citations',
  body: 'bodies of requests and answers, events and chunks, besides',
  call: 'the function that a message calls',
  prompt: 'a prompt that the model server has stored',
  settings: '`text`, `reasoning` and `incomplete_details`',
};

const cell = (names: readonly string[] = []): string => names.map((name) => `\`${name}\``).join(', ');

/** The rows as the code has them. */
const rows = Object.entries(ROWS).map(([kind, label]) => {
  // The cast: the keys are those of the list.
  const names: { unread?: readonly string[]; skipped?: readonly string[]; data?: readonly string[] } =
    UNREAD[kind as keyof typeof UNREAD];
  return `| ${label} | ${cell(names.unread)} | ${cell(names.skipped)} | ${cell(names.data)} |`;
});

it('[G-05] is in docs/guards.md as it is in the code', () => {
  const text = readFileSync(join(import.meta.dirname, '../../../docs/guards.md'), 'utf8');
  const section = text.split('\n## What guards read\n')[1]?.split('\n## ')[0] ?? '';
  const written = section.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| Of'));
  const plain = (line: string) => line.replaceAll(/ +/g, ' ').trim();
  expect(written.filter((line) => !line.startsWith('| ---')).map(plain)).toEqual(rows.map(plain));
});

it('[G-05] is the whole of what the walk leaves out', () => {
  const { piece, body } = UNREAD;
  expect([[...PIECE.unread], [...PIECE.skipped], [...PIECE.data]]).toEqual([piece.unread, piece.skipped, piece.data]);
  expect([[...BODY.unread], [...BODY.skipped], [...BODY.data]]).toEqual([
    [...piece.unread, ...body.unread],
    [...piece.skipped, ...body.skipped],
    piece.data,
  ]);
});

it('[G-05] has every position at which the walk leaves anything out', () => {
  const seen = new Set<Position>();
  const visit = (position: Position): void => {
    if (seen.has(position)) return;
    seen.add(position);
    for (const next of [...position.members.values(), ...(position.others ? [position.others] : [])]) visit(next);
  };
  visit(BODY);
  const listed = Object.values(UNREAD).map((names: { unread?: readonly string[]; skipped?: readonly string[] }) =>
    JSON.stringify([names.unread ?? [], names.skipped ?? []]),
  );
  const others = [...seen]
    .filter((position) => position !== BODY)
    .map(({ unread, skipped }) => JSON.stringify([[...unread], [...skipped]]))
    .filter((names) => names !== '[[],[]]' && !listed.includes(names));
  expect(others).toEqual([]);
  expect(seen.size).toBeGreaterThan(4);
});

it('[G-05] says nothing of objects that no API defines: they are read whole', () => {
  const free = ['arguments', 'input', 'action', 'parameters', 'query', 'queries', 'documents', 'results_metadata'];
  expect(free.filter((name) => PIECE.members.has(name) || (name !== 'input' && BODY.members.has(name)))).toEqual([]);
});
