/** Which host the first bytes of a TLS connection are for. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { type ConnectionOptions, connect } from 'node:tls';
import fc from 'fast-check';
import { helloBytes, helloName } from '../../../src/tools/shell/network/client-hello.ts';

/** What a client of Node says first. */
async function greeting(options: ConnectionOptions): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  // The cast: it listens on TCP.
  const { port } = server.address() as AddressInfo;
  const client = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options });
  client.on('error', () => {});
  const [socket] = await once(server, 'connection');
  const [bytes] = await once(socket, 'data');
  client.destroy();
  socket.destroy();
  server.close();
  return bytes;
}

let hello: Buffer;
beforeAll(async () => {
  hello = await greeting({ servername: 'Site.example' });
});

/** The greeting with this in place of its list of names. */
function withNames(list: Buffer, type = 0): Buffer {
  const name = Buffer.from('Site.example');
  const at = hello.indexOf(name) - 9;
  const extension = Buffer.concat([uint16(type), uint16(list.length), list]);
  return resized([hello.subarray(0, at), extension, hello.subarray(at + 9 + name.length)]);
}

function uint16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 255]);
}

/** Whose lengths, of the record, the message and the extensions, are those of its parts. */
function resized(parts: readonly Buffer[]): Buffer {
  const bytes = Buffer.concat(parts);
  const change = bytes.length - hello.length;
  bytes.writeUInt16BE(hello.readUInt16BE(3) + change, 3);
  bytes.writeUIntBE(hello.readUIntBE(6, 3) + change, 6, 3);
  const session = 43;
  const ciphers = session + 1 + hello.readUInt8(session);
  const compressions = ciphers + 2 + hello.readUInt16BE(ciphers);
  const extensions = compressions + 1 + hello.readUInt8(compressions);
  bytes.writeUInt16BE(hello.readUInt16BE(extensions) + change, extensions);
  return bytes;
}

function nameEntry(name: string, type = 0): Buffer {
  return Buffer.concat([Buffer.from([type]), uint16(name.length), Buffer.from(name)]);
}

function nameList(...entries: readonly Buffer[]): Buffer {
  const all = Buffer.concat(entries);
  return Buffer.concat([uint16(all.length), all]);
}

describe('the greeting of TLS', () => {
  it.each(['TLSv1.2', 'TLSv1.3'] as const)('[E-01] has the name that a client of %s asks for', async (version) => {
    const bytes = await greeting({ servername: 'Site.example', minVersion: version, maxVersion: version });
    expect([helloBytes(bytes), helloName(bytes)]).toEqual([bytes.length, 'site.example']);
    expect(helloName(Buffer.concat([bytes, Buffer.from('more')]))).toBe('site.example');
  });

  it('[E-01] has none where the client asks for none, for two, or hides another', async () => {
    const one = nameEntry('site.example');
    expect(helloName(withNames(nameList(one)))).toBe('site.example');
    const others = [
      await greeting({ servername: '' }),
      withNames(nameList(one, one)),
      withNames(nameList(one, nameEntry('other.example'))),
      withNames(nameList(nameEntry('site.example', 1))),
      withNames(Buffer.concat([nameList(one), Buffer.from('x')])),
      // Twice the same extension, in which servers may read the other one.
      resized([twice(nameList(one))]),
      withHidden(),
    ];
    const longer = Buffer.concat([hello, Buffer.alloc(4)]);
    longer.writeUInt16BE(hello.readUInt16BE(3) + 4, 3);
    others.push(longer);
    expect(others.map(helloName)).toEqual(others.map(() => undefined));
  });

  it('[E-01] is refused where it ends early, and never throws, whatever the bytes are', () => {
    for (let length = 5; length < hello.length; length += 1)
      expect(helloName(hello.subarray(0, length))).toBeUndefined();
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(hello.length - 1), fc.nat(255)), { maxLength: 8 }), (changes) => {
        const bytes = Buffer.from(hello);
        for (const [at, value] of changes) bytes[at] = value;
        const name = helloName(bytes);
        return name === undefined || bytes.toString('latin1').toLowerCase().includes(name);
      }),
    );
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 5, maxLength: 100 }), (bytes) => {
        const all = Buffer.from(bytes);
        return typeof helloName(all) !== 'object' && (helloBytes(all) ?? 6) > 5;
      }),
    );
    for (const text of ['GET / HTTP/1.1\r\n', 'SSH-2.0-x\r\n']) expect(helloBytes(Buffer.from(text))).toBeUndefined();
  });
});

/** The extension of names, two times. */
function twice(list: Buffer): Buffer {
  const one = withNames(list);
  const extension = Buffer.concat([uint16(0), uint16(list.length), list]);
  const at = one.indexOf(extension);
  return Buffer.concat([one.subarray(0, at), extension, one.subarray(at)]);
}

/** With an encrypted greeting beside the name. */
function withHidden(): Buffer {
  const one = Buffer.from(hello);
  const name = Buffer.from('Site.example');
  const at = one.indexOf(name) - 9;
  const hidden = Buffer.from([0xfe, 0x0d, 0, 1, 0]);
  return resized([one.subarray(0, at), hidden, one.subarray(at)]);
}
