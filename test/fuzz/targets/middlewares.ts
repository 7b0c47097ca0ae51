/** Middlewares in front of a handler: guards, budgets, validation and history, before answers of any shape. */
import fc from 'fast-check';
import { law } from '../../support/law.ts';
import { BODIES } from '../bodies.ts';
import { type ByteText, editedBytes } from '../byte-edits.ts';
import { bytesOf } from '../client.ts';
import { editedJson, type Json } from '../json-edits.ts';
import { chatAnswers, chatStreams, messagesStreams, responsesAnswers, responsesStreams } from '../samples.ts';
import type { Target } from '../target.ts';
import { named } from './requests.ts';

interface Input {
  readonly row: string;
  readonly path: string;
  readonly request: Json;
  readonly type: string;
  readonly answer: ByteText;
}

const PATHS = ['/responses', '/chat/completions', '/messages'] as const;
const inputs: fc.Arbitrary<Input> = fc.constantFrom(...PATHS).chain((path) =>
  fc.record({
    row: fc.constantFrom('guarded', 'budgeted', 'validated', 'kept', 'all'),
    path: fc.constant(path),
    request: editedJson(BODIES[path] ?? [{}]),
    type: fc.constantFrom('text/event-stream', 'text/event-stream', 'application/json', 'text/plain'),
    answer: editedBytes([...chatStreams, ...messagesStreams, ...responsesStreams, ...chatAnswers, ...responsesAnswers]),
  }),
);

const rows: Target<Input> = {
  name: 'middlewares',
  weight: 10,
  inputs,
  async run({ row, path, request, type, answer }, world) {
    world.behind = { type, body: bytesOf(answer) };
    const headers = { 'content-type': 'application/json' };
    const body = named(JSON.stringify(request), world);
    const sent = world.send({ path: `/${row}${path}`, headers, body });
    // What guards cannot read they break off: its status may be on its way.
    const got = await (isReadable(row, type) ? sent : sent.catch(() => undefined));
    if (!got || (got.isCut && !isReadable(row, type))) return;
    law(!got.isCut, 'an answer ends in good order', got);
    law(got.status === 200 || got.type.startsWith('application/json'), 'what is refused is refused in JSON', got);
    law(got.status < 500 || got.status > 500, 'an error is not the fault of the server', got);
    if (got.status !== 200) law(JSON.parse(got.text).error?.message, 'an error has a message', got);
  },
};

function isReadable(row: string, type: string): boolean {
  return type === 'text/event-stream' || (row !== 'guarded' && row !== 'all');
}

/** Middlewares. */
export const middlewares = [rows] as const;
