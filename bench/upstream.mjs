/** The bench's model server, in a process of its own: raw sockets, so that it is never the bottleneck. */
import { createServer } from 'node:net';
import {
  AFTER_TOOL,
  answer,
  callOf,
  completion,
  delta,
  echoed,
  embeddings,
  planOf,
  responsesAnswer,
  toolCall,
} from './fixtures.mjs';

const STREAM_HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
const END = '0\r\n\r\n';

/** Each event in an HTTP chunk of its own, as model servers write them. */
const chunked = (event) => `${Buffer.byteLength(event).toString(16)}\r\n${event}\r\n`;
const whole = (events) => Buffer.from(STREAM_HEAD + events.map(chunked).join('') + END);

function json(body) {
  const head = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}`;
  return Buffer.from(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n${body}`);
}

/** Answers that are written in one piece, each built only once. */
const bodies = new Map();
function bytesOf(name) {
  if (!bodies.has(name)) bodies.set(name, build(planOf(name)));
  return bodies.get(name);
}

function build({ kind, first }) {
  if (kind === 'json') return json(completion(first));
  if (kind === 'embeddings') return json(embeddings(first));
  if (kind === 'responses') return whole(responsesAnswer(first));
  if (kind === 'tool' || kind === 'arguments') return whole(toolCall(first));
  return whole(answer({ deltas: first, kind }));
}

/** Calls `next` after `afterMs` and then every `everyMs`, while it returns true and the socket is open. */
function every(socket, afterMs, everyMs, next) {
  const stop = () => clearTimeout(timer);
  const tick = () => {
    const goesOn = next();
    if (goesOn) return true;
    stop();
    socket.off('close', stop);
    return false;
  };
  let timer = setTimeout(() => {
    if (tick()) timer = setInterval(tick, everyMs);
  }, afterMs);
  socket.once('close', stop);
}

/** One delta every so many milliseconds. */
function pace(socket, { first: deltas, second: everyMs }) {
  const events = answer({ deltas }).map(chunked);
  socket.write(STREAM_HEAD + events.shift());
  every(socket, everyMs, everyMs, () => {
    const next = events.shift();
    socket.write(next ?? END);
    return next !== undefined;
  });
}

const [BEFORE_STAMP, AFTER_STAMP] = delta('@@').split('@@');
let streams = 0;

/** Paced deltas whose text is the time at which they are written, in microseconds; streams do not all write at the same time. */
function stamp(socket, { first: deltas, second: everyMs }) {
  const rest = answer({ deltas: 0 });
  let left = deltas;
  const write = () => {
    left -= 1;
    const now = process.hrtime.bigint() / 1000n;
    socket.write(chunked(`${BEFORE_STAMP}@${now}@${AFTER_STAMP}`));
    if (left === 0) socket.write(rest.slice(1).map(chunked).join('') + END);
    return left > 0;
  };
  socket.write(STREAM_HEAD + chunked(rest[0]));
  // A prime number steps through all milliseconds between two deltas; a single client need not wait.
  streams += 7;
  const afterMs = streams % everyMs;
  if (afterMs > 0 || write()) every(socket, afterMs || everyMs, everyMs, write);
}

/** A whole answer, after so many milliseconds. */
function wait(socket, { first: deltas, second: afterMs }) {
  setTimeout(() => {
    if (socket.writable) socket.write(bytesOf(`short:${deltas}`));
  }, afterMs);
}

/** `megabytes` of text, as fast as it is read. */
function flood(socket, { first: megabytes }) {
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

/** Answers with the number of messages in the request. */
function count(socket, body) {
  const messages = body.match(/"role":/g)?.length ?? 0;
  socket.write(whole([delta(String(messages)), ...answer({ deltas: 0 }).slice(1)]));
}

/** The hosted tools that a plan of the same name calls, and with what. */
const HOSTED = {
  search: ['file_search', { queries: ['the quick brown fox'] }],
  shell: ['shell', { commands: ['echo fox > fox.txt && cat fox.txt'] }],
  python: ['code_interpreter', { code: 'print(6 * 7)' }],
  agents: ['spawn_agent', { task_name: 'reader', message: 'Read.' }],
};

/** Calls the tool once; an agent that was begun answers at once. */
function callHosted(socket, { kind }, body) {
  const isBegun = body.includes('"tool_call_id"') || body.includes('/root/reader');
  const [tool, given] = HOSTED[kind];
  socket.write(isBegun ? bytesOf(`burst:${AFTER_TOOL}`) : whole(callOf(tool, JSON.stringify(given))));
}

const KINDS = {
  paced: pace,
  stamped: stamp,
  late: wait,
  flood,
  idle: (socket) => socket.write(STREAM_HEAD + chunked(answer({ deltas: 1 })[1])),
  messages: (socket, _plan, body) => count(socket, body),
  ...Object.fromEntries(Object.keys(HOSTED).map((kind) => [kind, callHosted])),
};

function reply(socket, name, body) {
  const plan = planOf(name);
  if (KINDS[plan.kind]) return KINDS[plan.kind](socket, plan, body);
  // After the tool has run, its result is in the messages as a whole string, and not only within the arguments.
  const hasRun = plan.kind === 'tool' && body.includes(`"${echoed(plan.first)}"`);
  socket.write(bytesOf(hasRun ? `burst:${AFTER_TOOL}` : name));
}

/** The end of the first request in these bytes and the start of its body; undefined while it is incomplete. */
function requestIn(buffer) {
  const end = buffer.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const start = end + 4;
  const length = /content-length: (\d+)/i.exec(buffer.toString('latin1', 0, end))?.[1];
  const stop = length === undefined ? chunkedEnd(buffer, start) : start + Number(length);
  return stop === undefined || buffer.length < stop ? undefined : { start, stop };
}

function chunkedEnd(buffer, from) {
  const end = buffer.indexOf(END, from);
  return end < 0 ? undefined : end + END.length;
}

/** Reads keep-alive requests with a content length, as undici and fetch send them; chunked ones too. */
const server = createServer((socket) => {
  let buffer = Buffer.alloc(0);
  socket.setNoDelay(true);
  socket.on('error', () => {});
  socket.on('data', (data) => {
    buffer = buffer.length === 0 ? data : Buffer.concat([buffer, data]);
    for (let found = requestIn(buffer); found; found = requestIn(buffer)) {
      const body = buffer.toString('utf8', found.start, found.stop);
      buffer = buffer.subarray(found.stop);
      reply(socket, /"model":"([^"]+)"/.exec(body)?.[1] ?? 'burst:8', body);
    }
  });
});

const address = { port: Number(process.argv[2] ?? 0), host: '127.0.0.1', backlog: 4096 };
server.listen(address, () => process.send?.({ port: server.address().port }));
process.once('disconnect', () => process.exit());
