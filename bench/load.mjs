/** The bench's clients, in a process of their own: raw sockets that count and do not parse. */
import { createConnection } from 'node:net';

/** Runs `requests` requests over `connections` sockets; answers what the clients saw. */
export async function load({ port, path, body, connections, requests, read = 'all' }) {
  const text = JSON.stringify(body);
  const head = `POST ${path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer bench\r\ncontent-type: application/json\r\n`;
  const bytes = Buffer.from(`${head}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  const seen = { answers: 0, events: 0, bytes: 0, firsts: [], gaps: [], failed: 0 };
  const began = performance.now();
  let left = requests;

  await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = createConnection({ port, host: '127.0.0.1', noDelay: true });
      await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
      while (left > 0) {
        left -= 1;
        await ask(socket, bytes, seen, read);
      }
      socket.destroy();
    }),
  );
  return { ...seen, ms: performance.now() - began };
}

const LAST_CHUNK = Buffer.from('0\r\n\r\n');

function ask(socket, bytes, seen, read) {
  return new Promise((resolve) => {
    const asked = performance.now();
    let last = asked;
    let expected;
    let got = 0;
    let first = true;
    const done = (ok) => {
      socket.off('data', take).off('close', gone);
      if (ok) seen.answers += 1;
      else seen.failed += 1;
      resolve();
    };
    const gone = () => done(false);
    const take = (data) => {
      const now = performance.now();
      seen.bytes += data.length;
      if (first) {
        first = false;
        if (!data.subarray(0, 12).equals(Buffer.from('HTTP/1.1 200'))) return done(false);
        const head = data.indexOf('\r\n\r\n');
        const length = /content-length: (\d+)/i.exec(data.toString('latin1', 0, head))?.[1];
        if (length !== undefined) {
          expected = Number(length);
          got = -(head + 4);
        }
      } else if (read === 'gaps') seen.gaps.push(now - last);
      if (seen.firsts.length < 100_000 && last === asked) seen.firsts.push(now - asked);
      last = now;
      if (expected !== undefined) {
        got += data.length;
        if (got >= expected) done(true);
      } else if (data.subarray(-5).equals(LAST_CHUNK)) done(true);
    };
    socket.on('data', take).on('close', gone);
    socket.write(bytes);
  });
}

process.on('message', async (job) => process.send({ done: await load(job) }));
