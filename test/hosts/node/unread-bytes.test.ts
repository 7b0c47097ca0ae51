/** Clients that request the content of a file and do not read it. */
import { connect, type Socket } from 'node:net';
import { remember } from '../../../src/hosts/node/node-request.ts';
import { respond } from '../../../src/hosts/node/respond.ts';
import { listening } from '../../support/listening.ts';

async function* endless() {
  for (;;) yield Buffer.alloc(64 * 1024);
}

it('[G-14] are cut off where what is held for them takes too much together, those of the tenant with most first', async () => {
  const cut: string[] = [];
  let onCut = () => {};
  const someone = new Promise<void>((resolve) => {
    onCut = resolve;
  });
  const server = await listening((req, res) => {
    const tenant = String(req.url);
    res.once('close', () => {
      cut.push(tenant);
      onCut();
    });
    remember(req).bodySize = { tenant: () => tenant, bytes: 0, most: 500_000 };
    void respond(res, { status: 200, headers: {}, body: '', bytes: endless() });
  });
  const clients: Socket[] = [];
  for (const tenant of ['/modest', '/greedy', '/greedy', '/greedy']) {
    const client = connect(Number(new URL(server.url).port), '127.0.0.1').on('error', () => {});
    client.write(`GET ${tenant} HTTP/1.1\r\nhost: app\r\n\r\n`);
    // Until its answer has begun.
    await new Promise((resolve) => client.once('readable', resolve));
    clients.push(client);
  }
  await someone;
  expect(cut[0]).toBe('/greedy');
  for (const client of clients) client.destroy();
  await server.close();
});
