/** A model server in a process of its own: it answers, at once or slowly, throttles, hangs or cuts its streams, as the test sets it. */
import { createServer } from 'node:http';

const WORDS = 20;
const PACE_MS = 10;
/** In the mode `slow`, after the first word: an answer takes seconds. */
const SLOW_MS = 300;

const frame = (delta, finish = null) =>
  `data: ${JSON.stringify({ id: 'c', created: 1, model: 'm', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

let mode = 'good';

async function answer(response) {
  if (mode === 'hang') return;
  if (mode === 'throttle') {
    response.writeHead(429, { 'content-type': 'application/json', 'retry-after': '1' });
    response.end('{"error":{"message":"Slow down."}}');
    return;
  }
  const isSlow = mode === 'slow';
  const cutAfter = { 'cut early': 0, 'cut late': WORDS / 2 }[mode] ?? Number.POSITIVE_INFINITY;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(frame({ role: 'assistant', content: '' }));
  for (let word = 0; word < WORDS; word += 1) {
    await new Promise((resolve) => setTimeout(resolve, isSlow && word > 0 ? SLOW_MS : PACE_MS));
    if (word >= cutAfter) return response.destroy();
    response.write(frame({ content: `word${word} ` }));
    if (isSlow && word === 0) response.write(frame({ content: 'slowly ' }));
  }
  response.end(`${frame({}, 'stop')}data: [DONE]\n\n`);
}

const server = createServer((request, response) => request.resume().once('end', () => answer(response)));
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
process.on('message', (next) => {
  mode = next;
  process.send({ mode });
});
process.once('disconnect', () => process.exit());
