/** `lineFilter`: which bytes of a stream are passed on, however they arrive. */
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { lineFilter } from '../../../src/hosts/cli/line-filter.ts';

/** What is passed on of these pieces. */
async function passed(pieces: readonly (string | Uint8Array)[]): Promise<string> {
  const filter = lineFilter('[mine]');
  const text = buffer(filter);
  for (const piece of pieces) filter.write(piece);
  filter.end();
  return (await text).toString();
}

const TEXT = 'ä\n[mine] {"model":"é"}\n\n[min]\n [mine]\n[mine]\n[mine][mine] ü\n[mineral]\nend\n[mi';
const REST = 'ä\n\n[min]\n [mine]\n[mineral]\nend\n[mi';

describe('lineFilter', () => {
  it('[E-14] leaves out the lines that begin with the text, wherever the stream is divided', async () => {
    const bytes = Buffer.from(TEXT);
    const results = Array.from({ length: bytes.length + 1 }, (_, at) =>
      passed([bytes.subarray(0, at), bytes.subarray(at)]),
    );
    expect(new Set(await Promise.all(results))).toEqual(new Set([REST]));
    expect(await passed(Array.from(bytes, (byte) => Buffer.of(byte)))).toBe(REST);
  });

  it('[E-14] passes on at once what can be no such line', async () => {
    const filter = lineFilter('[mine]');
    filter.write('Password: ');
    await once(filter, 'readable');
    expect(String(filter.read())).toBe('Password: ');
  });
});
