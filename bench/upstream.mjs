/** The bench's model server, in a process of its own: raw sockets, so that it is never what is measured. */
import { createServer } from 'node:net';
import { answer, completion, toolCall } from './fixtures.mjs';

const STREAM_HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
const END = '0\r\n\r\n';

/** Each event in an HTTP chunk of its own, as model servers write them. */
const chunked = (event) => `${Buffer.byteLength(event).toString(16)}\r\n${event}\r\n`;
const whole = (events) => Buffer.from(STREAM_HEAD + events.map(chunked).join('') + END);

const bodies = new Map();
/** The bytes of an answer that is written at once. */
function bytesOf(plan) {
  if (!bodies.has(plan)) bodies.set(plan, build(plan));
  return bodies.get(plan);
}

function build(plan) {
  const [kind, deltas = '8', bytes = '16'] = plan.split(':');
  if (kind === 'json') return json(completion(Number(deltas)));
  if (kind === 'tool') return whole(toolCall(Number(bytes)));
  return whole(answer({ deltas: Number(deltas), padded: kind === 'padded' }));
}

function json(body) {
  return Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

/** One delta every so many milliseconds. */
function pace(socket, deltas, everyMs) {
  const events = answer({ deltas }).map(chunked);
  socket.write(STREAM_HEAD + events.shift());
  const timer = setInterval(() => {
    const next = events.shift();
    if (next) return socket.write(next);
    stop();
    socket.off('close', stop);
    socket.write(END);
  }, everyMs);
  const stop = () => clearInterval(timer);
  socket.once('close', stop);
}

/** Text without end, as fast as it is read: `megabytes` of it. */
function flood(socket, megabytes) {
  const events = Buffer.from(answer({ deltas: 2000 }).slice(0, -3).map(chunked).join(''));
  let left = Math.ceil((megabytes * 1e6) / events.length);
  socket.write(STREAM_HEAD);
  const more = () => {
    while (left > 0 && socket.writable) {
      left -= 1;
      if (!socket.write(events)) return socket.once('drain', more);
    }
  };
  more();
}

function reply(socket, plan, body) {
  const [kind, first = '8', second = '20'] = plan.split(':');
  if (kind === 'paced') return pace(socket, Number(first), Number(second));
  if (kind === 'idle') return socket.write(STREAM_HEAD + chunked(answer({ deltas: 1 })[1]));
  if (kind === 'flood') return flood(socket, Number(first));
  // After the tool has run its result stands in the messages.
  if (kind === 'tool' && body.includes('"role":"tool"')) return socket.write(bytesOf('burst:8'));
  socket.write(bytesOf(plan));
}

/** Reads keep-alive requests with a content length, as undici and fetch send them; chunked ones too. */
const server = createServer((socket) => {
  let buffer = Buffer.alloc(0);
  socket.setNoDelay(true);
  socket.on('error', () => {});
  socket.on('data', (data) => {
    buffer = buffer.length === 0 ? data : Buffer.concat([buffer, data]);
    for (;;) {
      const end = buffer.indexOf('\r\n\r\n');
      if (end < 0) return;
      const head = buffer.toString('latin1', 0, end);
      const length = /content-length: (\d+)/i.exec(head)?.[1];
      const stop = length === undefined ? chunkedEnd(buffer, end + 4) : end + 4 + Number(length);
      if (stop === undefined || buffer.length < stop) return;
      const body = buffer.toString('utf8', end + 4, stop);
      buffer = buffer.subarray(stop);
      reply(socket, /"model":"([^"]+)"/.exec(body)?.[1] ?? 'burst:8', body);
    }
  });
});

function chunkedEnd(buffer, from) {
  const end = buffer.indexOf('0\r\n\r\n', from);
  return end < 0 ? undefined : end + 5;
}

server.listen(0, '127.0.0.1', () => process.send?.({ port: server.address().port }));
