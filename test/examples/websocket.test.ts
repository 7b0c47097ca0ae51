/** The example app's WebSocket, from its key to its demo model. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { type Example, start } from '../../examples/express/start.ts';

let example: Example;

beforeAll(async () => {
  example = await start({ PORT: '0', API_KEYS: 'key-of-ada', LOG: 'off' }, () => {});
});

afterAll(() => example.close());

function socketWith(headers: Record<string, string>): WebSocket {
  return new WebSocket(`${example.url.replace('http', 'ws')}/v1/responses`, { headers });
}

/** The messages of one answer. */
async function answerTo(socket: WebSocket, body: object): Promise<readonly Record<string, unknown>[]> {
  const messages: Record<string, unknown>[] = [];
  const whole = new Promise<void>((resolve) => {
    socket.on('message', function take(data) {
      const message = JSON.parse(String(data));
      messages.push(message);
      if (!/^response\.(completed|failed|incomplete)$|^error$/.test(message.type)) return;
      socket.off('message', take);
      resolve();
    });
  });
  socket.send(JSON.stringify({ type: 'response.create', model: 'demo', ...body }));
  await whole;
  return messages;
}

it('[S-15] [Q-01] answers two turns on one connection, the second knowing the first', async () => {
  const socket = socketWith({ authorization: 'Bearer key-of-ada' });
  await once(socket, 'open');
  const first = await answerTo(socket, { input: 'Say hello.', store: false });
  const { response } = first.at(-1) as { response: { id: string } };
  const second = await answerTo(socket, { input: 'And before?', store: false, previous_response_id: response.id });
  socket.close();
  expect([first.at(-1)?.type, JSON.stringify(second.at(-1)).includes('Before that you wrote')]).toEqual([
    'response.completed',
    true,
  ]);
});

it('[S-15] [P-13] asks for the key before it opens', async () => {
  const socket = socketWith({ authorization: 'Bearer nobody' });
  const [, { statusCode }] = await once(socket, 'unexpected-response');
  socket.on('error', () => {}).terminate();
  expect(statusCode).toBe(401);
});
