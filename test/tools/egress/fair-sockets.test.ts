/** The sockets to one origin that all tenants share. */
import type { ServerResponse } from 'node:http';
import { egressGuard } from '../../../src/tools/egress/index.ts';
import { listening } from '../../support/listening.ts';

it('[G-07] leave one to another tenant, however many requests of a greedy one wait for their answers', async () => {
  const held: ServerResponse[] = [];
  const server = await listening((request, response) => {
    if (request.url === '/slow') held.push(response);
    else response.end('There.');
  });
  const { port } = new URL(server.url);
  const guard = egressGuard({ schemes: ['http'], ports: [Number(port)], allow: [{ cidr: '127.0.0.0/8' }] });
  const greedy = Array.from({ length: 300 }, () => guard.fetch(`${server.url}/slow`, { tenant: 'greedy' }));
  while (held.length < 127) await new Promise(setImmediate);
  const answer = await guard.fetch(`${server.url}/page`, { tenant: 'modest' });
  expect([await answer.text(), held.length]).toEqual(['There.', 127]);
  for (let answered = 0; answered < greedy.length; answered += 1) {
    while (!held[answered]) await new Promise(setImmediate);
    held[answered]?.end();
  }
  for (const each of greedy) expect(await (await each).text()).toBe('');
  await guard.close();
  await server.close();
});
