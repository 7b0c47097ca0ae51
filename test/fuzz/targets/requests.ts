/** Requests to every endpoint that takes a body: changed in places, changed in bytes, and packed or marked in odd ways. */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { law } from '../../support/law.ts';
import { type ApiName, expectAnswer, expectObject, expectRefusal } from '../answers.ts';
import { BODIES } from '../bodies.ts';
import { type ByteText, editedBytes } from '../byte-edits.ts';
import { bytesOf, type Received } from '../client.ts';
import { editedJson, type Json } from '../json-edits.ts';
import type { Target } from '../target.ts';
import type { World } from '../world.ts';

const PATHS = Object.keys(BODIES);
const MOUNTS = ['/v1', '/v1', '/sqlite', '/inspected', '/anthropic', '/responses'] as const;

interface Changed {
  readonly mount: string;
  readonly path: string;
  readonly body: Json;
}

/** With the ids of the world in the places of their names. */
export function named(text: string, { ids }: World): string {
  return text.replace(/\{(\w+\.\w+)\}/g, (whole, name) => ids[name] ?? whole);
}

function apiOf(path: string): ApiName {
  if (path.startsWith('/messages')) return 'messages';
  return path.startsWith('/chat') ? 'chat' : 'responses';
}

/** Throws unless the answer is one of its endpoint. */
function expectOf(path: string, got: Received): void {
  const isTurn = ['/responses', '/chat/completions', '/messages'].includes(path);
  if (isTurn && !isBackground(got)) return expectAnswer(apiOf(path), got, { mayFail: got.status === 422 });
  law(!got.isCut, 'an answer ends in good order', got);
  if (got.status >= 400) return expectRefusal(apiOf(path), got);
  if (got.type.startsWith('application/json')) expectObject(JSON.parse(got.text));
}

/** Those that run in the background may be answered before they end. */
function isBackground({ text }: Received): boolean {
  return text.includes('"background":true');
}

const changed: Target<Changed> = {
  name: 'requests with changes',
  weight: 24,
  inputs: fc.constantFrom(...PATHS, '/responses', '/responses', '/chat/completions', '/messages').chain((path) =>
    fc.record({
      // Only the first ones have Chat Completions to pass on.
      mount: fc.constantFrom(...MOUNTS.slice(0, path.startsWith('/chat') ? 4 : undefined)),
      path: fc.constant(path),
      body: editedJson(BODIES[path] ?? [{}]),
    }),
  ),
  async run({ mount, path, body }, world) {
    world.model.answers();
    const sent = { path: named(mount + path, world), headers: { 'content-type': 'application/json' } };
    expectOf(path, await world.send({ ...sent, body: named(JSON.stringify(body), world) }));
  },
};

const TEXTS: readonly ByteText[] = PATHS.flatMap((path) => (BODIES[path] ?? []).slice(0, 4)).map((body) =>
  Buffer.from(JSON.stringify(body)).toString('latin1'),
);

const bytes: Target<{ readonly path: string; readonly body: ByteText }> = {
  name: 'requests of changed bytes',
  weight: 12,
  inputs: fc.record({ path: fc.constantFrom(...PATHS), body: editedBytes(TEXTS) }),
  async run({ path, body }, world) {
    world.model.answers();
    const sent = { path: named(`/v1${path}`, world), headers: { 'content-type': 'application/json' } };
    expectOf(path, await world.send({ ...sent, body: bytesOf(body) }));
  },
};

const PACKED: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  identity: (body) => body,
  zstd: (body) => body,
};

/** `flip` is a bit of the packed bytes that is turned over. */
interface Packed {
  readonly path: string;
  readonly type: string;
  readonly encoding: string;
  readonly body: Json;
  readonly flip: number | null;
}

const packed: Target<Packed> = {
  name: 'requests packed and marked in odd ways',
  weight: 6,
  inputs: fc.record({
    path: fc.constantFrom(...PATHS),
    type: fc.oneof(
      fc.constantFrom(
        'application/json',
        'application/json; charset=utf-8',
        'application/json;charset=utf-16',
        'text/plain',
      ),
      fc.constantFrom('', 'application/vnd.api+json', 'multipart/form-data', 'application/x-www-form-urlencoded', 'x'),
      fc.stringMatching(/^[ -~]{0,20}$/),
    ),
    encoding: fc.constantFrom(...Object.keys(PACKED)),
    body: editedJson([
      { model: 'm', input: 'Hi' },
      { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] },
    ]),
    flip: fc.option(fc.nat(4000)),
  }),
  async run({ path, type, encoding, body, flip }, world) {
    world.model.answers();
    const whole = PACKED[encoding]?.(Buffer.from(JSON.stringify(body))) ?? Buffer.alloc(0);
    if (flip !== null) whole[(flip >> 3) % whole.length] = (whole[(flip >> 3) % whole.length] ?? 0) ^ (1 << (flip & 7));
    const headers = { 'content-type': type, 'content-encoding': encoding };
    expectOf(path, await world.send({ path: named(`/v1${path}`, world), headers, body: whole }));
  },
};

/** Bodies. */
export const requests = [changed, bytes, packed] as const;
