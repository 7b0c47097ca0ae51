/** The bytes of a reply on a client's socket. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { respond } from '../../src/node/respond.ts';
import { streamReply } from '../../src/protocol/reply.ts';

async function* each(pieces: readonly string[]): AsyncGenerator<string> {
  yield* pieces;
}

/** What a client is sent of these pieces. */
async function sent(pieces: readonly string[]): Promise<Buffer> {
  const server = createServer((_, res) => respond(res, streamReply(each(pieces)))).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const bytes = Buffer.from(await answer.arrayBuffer());
  server.close();
  return bytes;
}

// Short ones go out as text, long ones as bytes, and the longest by another way than those.
const LENGTHS = [10, 4096, 4097, 87_381, 87_382, 400_000];

describe('respond', () => {
  it.each([
    ['ASCII', 'a'],
    ['accents', 'é'],
    ['more than one byte for each unit', '’'],
    ['emoji', '😀'],
    ['half an emoji', '\ud83d'],
  ])('[S-02] [Q-06] sends pieces of any length as UTF-8: %s', async (_, unit) => {
    const pieces = LENGTHS.map((length) => `${unit.repeat(length / unit.length)}\n\n`);
    expect((await sent(pieces)).equals(Buffer.from(pieces.join('')))).toBe(true);
  });

  it('[S-02] sends each piece as it was, however many follow', async () => {
    const pieces = Array.from({ length: 50 }, (_, index) => `${String.fromCharCode(0x4e00 + index).repeat(5000)}\n\n`);
    expect((await sent(pieces)).equals(Buffer.from(pieces.join('')))).toBe(true);
  });
});
