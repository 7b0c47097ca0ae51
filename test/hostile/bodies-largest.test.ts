/** Bodies of the largest size, and compressed bodies that inflate to more. */
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { SHAPES } from '../support/hostile-bodies.ts';
import { type AttackedApp, faultsOf, MIB, startAttackedApp } from './bodies-process.ts';
import { tally } from './tally.ts';

const { tried } = tally('large bodies');
const compress = promisify(zlib.gzip);

let app: AttackedApp;

beforeAll(async () => {
  app = await startAttackedApp('--live');
});
afterAll(() => app?.close());

/** Compresses fast: the best compression of such a bomb takes half a minute. */
function quickBrotli(bytes: Uint8Array): Buffer {
  return zlib.brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } });
}

const LARGEST = [
  ['zeros', '{"model":"m","input":@}', '/v1/responses'],
  ['zeros', '{"model":"m","messages":@}', '/v1/chat/completions'],
  ['empty objects', '{"model":"m","input":[{"type":"reasoning","summary":@}]}', '/v1/responses'],
  ['nested arrays', '{"model":"m","input":"a","context_management":@}', '/v1/responses/input_tokens'],
  ['many keys', '{"metadata":@}', '/v1/conversations'],
  ['many keys', '{"model":"m","input":"a","x":@}', '/v1/responses'],
  ['a schema', '{"model":"m","input":"a","tools":[{"type":"function","name":"f","parameters":@}]}', '/v1/responses'],
  ['messages', '{"model":"m","input":@}', '/v1/responses'],
  ['one huge string', '{"model":"m","input":@}', '/v1/responses'],
  ['one string of commas', '{"model":"m","input":[{"role":"user","content":@}]}', '/v1/responses'],
  ['deep nests', '{"model":"m","input":@}', '/proxy/responses'],
  ['outputs to submit', '{"tool_outputs":@}', '/tokligence/responses/resp_1/submit_tool_outputs'],
] as const;

it.each(LARGEST)(
  '[F-02] 31 MiB of %s in %s at %s, compressed, do not kill the process',
  async (shape, place, path) => {
    const text = place.replace('@', () => SHAPES[shape](31 * MIB));
    const bytes = await compress(text);
    const sent = await app.send(path, bytes, { 'content-encoding': 'gzip' });
    // How the work grows is told by the shorter bodies of the other files; this one must fit into the heap.
    expect(faultsOf(`${shape} in ${place}`, text.length, sent)).toEqual([]);
    tried('31 MiB, compressed');
  },
  120_000,
);

it.each(['gzip', 'deflate', 'br'])(
  '[F-02] a %s bomb is inflated only up to bodyBytes',
  async (encoding) => {
    const pack = { gzip: zlib.gzipSync, deflate: zlib.deflateSync, br: quickBrotli }[encoding];
    const bomb = pack?.(Buffer.alloc(256 * MIB, ' ')) ?? Buffer.alloc(0);
    for (const path of ['/v1/responses', '/v1/chat/completions', '/proxy/responses']) {
      const { status, inflated } = await app.send(path, bomb, { 'content-encoding': encoding });
      expect([status, inflated > MIB, inflated < 33 * MIB]).toEqual([413, true, true]);
      tried('bomb');
    }
  },
  120_000,
);
