/** Hostile shapes in the messages of a WebSocket. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { hostileBodies } from '../support/hostile-bodies.ts';
import { type AttackedApp, faultsOf, MIB, type Sent, startAttackedApp } from './bodies-process.ts';
import { tally } from './tally.ts';

const BYTES = 50_000;
const { tried } = tally('messages of a WebSocket');

let app: AttackedApp;

beforeAll(async () => {
  app = await startAttackedApp();
});
afterAll(() => app?.close());

it('[F-02] a WebSocket does no more work than so much for each byte of any message', async () => {
  const socket = new WebSocket(`${app.url.replace('http', 'ws')}/v1/responses`, { maxPayload: 256 * MIB });
  await once(socket, 'open');
  const ended = /"type":"(error|response\.(completed|failed|incomplete))"/;
  const attack = async (text: string): Promise<Sent> => {
    await app.spent();
    const last = new Promise<string>((resolve) => {
      socket.on('message', function take(data) {
        const message = String(data);
        if (!ended.test(message.slice(0, 400))) return;
        socket.off('message', take);
        resolve(message);
      });
    });
    socket.send(text);
    const message = await last;
    return { status: message.includes('"status":500') ? 500 : 200, text: message, ...(await app.spent()) };
  };
  const faults: string[] = [];
  for (const body of hostileBodies('POST /responses', BYTES)) {
    const text = body.text().replace('{', '{"type":"response.create",');
    faults.push(...faultsOf(`WebSocket ${body.name}`, text.length, await attack(text)));
    tried('WebSocket message');
  }
  socket.terminate();
  expect(faults).toEqual([]);
}, 600_000);
