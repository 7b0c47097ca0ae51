/** Hostile shapes in the messages of a WebSocket. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { allowedTime, hostileBodies } from '../support/hostile-bodies.ts';
import { type AttackedApp, faultOf, MIB, type Sent, startAttackedApp } from './bodies-process.ts';
import { tally } from './tally.ts';

const BYTES = 200_000;
const { tried } = tally('messages of a WebSocket');

let app: AttackedApp;

beforeAll(async () => {
  app = await startAttackedApp();
});
afterAll(() => app?.close());

it('[F-02] a WebSocket spends no more than ten times the parsing on any message', async () => {
  const socket = new WebSocket(`${app.url.replace('http', 'ws')}/v1/responses`, { maxPayload: 256 * MIB });
  await once(socket, 'open');
  const ended = /"type":"(error|response\.(completed|failed|incomplete))"/;
  const attack = (text: string) => async (): Promise<Sent> => {
    const before = await app.spent();
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
    return { status: message.includes('"status":500') ? 500 : 200, text: message, ms: (await app.spent()) - before };
  };
  const faults: string[] = [];
  for (const body of hostileBodies('POST /responses', BYTES)) {
    const text = body.text().replace('{', '{"type":"response.create",');
    faults.push(...(await faultOf(`WebSocket ${body.name}`, await allowedTime(text), attack(text))));
    tried('WebSocket message');
  }
  socket.terminate();
  expect(faults).toEqual([]);
});
