/** The ports of the servers that tests start. */
import { readFileSync } from 'node:fs';
import { freePort } from './services.ts';

it('[Q-06] are none that another test may be given before the server listens', async () => {
  const range = process.platform === 'linux' ? readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8') : '49152';
  const [first] = range.split(/\s+/);
  const ports = await Promise.all(Array.from({ length: 50 }, freePort));
  expect(ports.filter((port) => port >= Number(first))).toEqual([]);
});
