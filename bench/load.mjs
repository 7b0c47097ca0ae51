/** The bench's clients, in a process of their own: raw sockets that count and do not parse. */
import { createConnection } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

// With more failures there is nothing to measure.
const MOST_FAILURES = 50;
/** Characters of an answer by which one that is wrong is told from others. */
const MOST_OF_A_REASON = 200;
// As many connections at once as a server's backlog holds.
const AT_ONCE = 100;
const MOST_OF_AN_END = 16 * 1024;
const LAST_CHUNK = Buffer.from('0\r\n\r\n');
const OK = Buffer.from('HTTP/1.1 200');

const jobs = { ask, hold, release };
const held = [];

process.on('message', (job) => {
  jobs[job.kind](job)
    .catch((error) => ({ error: String(error) }))
    .then((answer) => process.send(answer));
});
process.once('disconnect', () => process.exit());

/**
 * Sends each of `bodies` in turn, so many `turns` over so many `connections` of so many `tenants`, which open over `spreadMs`. Returns how many answers were complete, and
 * have the text `holds` in one piece near their end; how many failed, and how each of those ended; and the times to their first byte, first stamped delta and end, and of
 * stamps on their way, in milliseconds.
 */
async function ask({ connections, turns, bodies, tenants = 1, spreadMs = 0, holds = '', ...where }) {
  const requestsOf = Array.from({ length: tenants }, (_, tenant) =>
    bodies.map((body) => requestOf(where, body, tenant)),
  );
  const seen = { holds, answers: 0, failed: 0, reasons: {}, firstByte: [], firstDelta: [], whole: [], delay: [] };
  let left = turns;

  async function client(_, index) {
    if (spreadMs > 0) await sleep((index * spreadMs) / connections);
    let socket = await open(where);
    while (left > 0 && seen.failed < MOST_FAILURES) {
      left -= 1;
      for (const request of requestsOf[index % tenants])
        if (!(await exchange(socket, request, seen))) socket = await open(where);
    }
    socket.destroy();
  }

  await Promise.all(Array.from({ length: connections }, client));
  const { holds: _, answers, failed, reasons, ...times } = seen;
  return {
    answers,
    failed,
    reasons,
    ...Object.fromEntries(Object.entries(times).map(([name, all]) => [name, quantiles(all)])),
  };
}

function quantiles(times) {
  const sorted = Float64Array.from(times).sort();
  const at = (part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
  return { p50: at(0.5), p99: at(0.99) };
}

function requestOf({ path }, body, tenant = 0) {
  const text = JSON.stringify(body);
  const head = `POST ${path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer bench-${tenant}\r\ncontent-type: application/json`;
  return Buffer.from(`${head}\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
}

function open({ host, port }) {
  const socket = createConnection({ port, host, noDelay: true });
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.once('connect', () => resolve(socket.off('error', reject).on('error', () => {})));
  });
}

/** Whether the answer was complete; the socket is destroyed if not. */
function exchange(socket, request, seen) {
  return new Promise((resolve) => {
    const read = answerReader(seen);
    let last = '';
    const settle = (ok) => {
      socket.off('data', take).off('close', gone);
      if (ok) seen.answers += 1;
      else seen.failed += 1;
      if (!ok) {
        const reason = last.slice(-MOST_OF_A_REASON).replaceAll(/[0-9a-f]{16,}|\d+/g, '#');
        seen.reasons[reason] = (seen.reasons[reason] ?? 0) + 1;
        socket.destroy();
      }
      resolve(ok);
    };
    const gone = () => settle(false);
    const take = (data) => {
      // The end of an answer, of which a piece may hold no more than the last bytes.
      if (seen.holds !== '') last = (last + data.latin1Slice()).slice(-MOST_OF_AN_END);
      const whole = read(data);
      if (whole !== undefined) settle(whole && last.includes(seen.holds));
    };
    socket.on('data', take).on('close', gone);
    socket.write(request);
  });
}

/** Takes the bytes of an answer; returns true at its end, and false if it is wrong. */
function answerReader(seen) {
  const asked = performance.now();
  let left;
  let tail = Buffer.alloc(0);
  let isFirst = true;
  let lastStamp = 0;

  function start(data) {
    isFirst = false;
    seen.firstByte.push(performance.now() - asked);
    const head = data.indexOf('\r\n\r\n');
    const length = /content-length: (\d+)/i.exec(data.toString('latin1', 0, head))?.[1];
    if (length !== undefined) left = Number(length) + head + 4;
  }

  /** Reads only stamps that are newer than the last: the end of a response repeats the whole text. */
  function readStamps(data) {
    const now = Number(process.hrtime.bigint() / 1000n);
    for (const [, stamp] of data.latin1Slice().matchAll(/@(\d+)@/g)) {
      if (Number(stamp) <= lastStamp) continue;
      if (lastStamp === 0) seen.firstDelta.push(performance.now() - asked);
      lastStamp = Number(stamp);
      seen.delay.push((now - lastStamp) / 1000);
    }
  }

  function isLast(data) {
    if (left !== undefined) {
      left -= data.length;
      return left <= 0;
    }
    tail = data.length >= LAST_CHUNK.length ? data : Buffer.concat([tail, data]);
    tail = tail.subarray(-LAST_CHUNK.length);
    return tail.equals(LAST_CHUNK);
  }

  return function read(data) {
    if (isFirst && !data.subarray(0, OK.length).equals(OK)) return false;
    if (isFirst) start(data);
    if (data.includes('@')) readStamps(data);
    if (!isLast(data)) return undefined;
    seen.whole.push(performance.now() - asked);
    return true;
  };
}

/** Opens streams and keeps them open: `stalled` clients read nothing, the others have read the first delta. */
async function hold({ connections, bodies, stalled, ...where }) {
  const request = requestOf(where, bodies[0]);
  for (let count = 0; count < connections; count += AT_ONCE) {
    const some = Math.min(AT_ONCE, connections - count);
    await Promise.all(Array.from({ length: some }, () => holdOne(where, request, stalled)));
  }
  return { held: held.length };
}

async function holdOne(where, request, stalled) {
  const socket = await open(where);
  held.push(socket);
  socket.write(request);
  if (!stalled) await firstWord(socket);
}

function firstWord(socket) {
  return new Promise((resolve, reject) => {
    const gone = () => reject(new Error('The server closed an open stream.'));
    const take = (data) => {
      if (!data.includes('"The"')) return;
      socket.off('data', take).off('close', gone).resume();
      resolve();
    };
    socket.on('data', take).once('close', gone);
  });
}

/** Closes all streams that are kept open. */
async function release() {
  for (const socket of held.splice(0)) socket.destroy();
  return { held: 0 };
}
