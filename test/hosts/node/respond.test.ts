/** The bytes of a reply on a client's socket. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { respond } from '../../../src/hosts/node/respond.ts';
import { ApiError } from '../../../src/protocol/errors.ts';
import { errorReply, serializedReply, streamReply } from '../../../src/protocol/reply.ts';

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

  it.each([
    ['fails', async (res: ServerResponse) => respond(res, streamReply(failing()))],
    ['comes too late, behind the head of another answer', late],
  ])('[F-07] leaves no response open where the stream %s', async (_, answer) => {
    const failures: unknown[] = [];
    const server = createServer((_, res) => answer(res).catch((error) => void failures.push(error.message)));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const reading = fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`).then((reported) =>
      reported.text(),
    );
    await expect(reading).rejects.toThrow(/fetch failed|terminated/);
    expect(failures).toEqual(answer === late ? [] : ['broken']);
    server.close();
  });
});

async function* failing(): AsyncGenerator<string> {
  yield 'data: 1\n\n';
  throw new Error('broken');
}

async function late(res: ServerResponse): Promise<void> {
  res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
  await respond(res, serializedReply(errorReply(new ApiError('server_error', 'Too late.'))));
}
