/** What the sockets of a remote connection reveal, and what they do once they are closed. */
import { egressGuard } from '../../../src/tools/egress/index.ts';
import { remoteHttp } from '../../../src/tools/mcp/remote/remote-http.ts';
import { NOBODY } from '../../support/listening.ts';
import { closeAll, closeLater, failureOf } from '../../support/mcp-client.ts';

afterEach(closeAll);

async function opened() {
  const { port } = NOBODY;
  const policy = { schemes: ['http'], ports: [port], allow: [{ cidr: '127.0.0.0/8' }] } as const;
  const http = remoteHttp(() => egressGuard(policy, { resolve: async () => ['127.0.0.1'] }));
  const pool = http.openPool();
  closeLater(pool.close);
  return { http, pool, url: `http://a.example:${port}/` };
}

describe('remoteHttp', () => {
  it('[T-09] answers what is asked after its end with a status that keeps the SDK from asking again', async () => {
    const { pool, url } = await opened();
    await pool.close();
    expect((await pool.fetch(url)).status).toBe(405);
  });

  it('[T-09] describes a failed connection in words, without the address', async () => {
    const { http, pool, url } = await opened();
    const error = await failureOf(pool.fetch(url));
    expect([error, error.cause, http.refusal]).toEqual([
      new Error('fetch failed (ECONNREFUSED)'),
      undefined,
      undefined,
    ]);
  });

  it('[T-09] keeps the first refusal', async () => {
    const { http, pool } = await opened();
    for (const url of ['https://a.example/', 'http://a.example:22/']) await failureOf(pool.fetch(url));
    expect(http.refusal).toEqual(expect.objectContaining({ message: expect.stringContaining('https://a.example ') }));
  });

  it("[T-09] passes on a caller's own reason", async () => {
    const { pool, url } = await opened();
    const reason = new Error('enough');
    expect(await failureOf(pool.fetch(url, { signal: AbortSignal.abort(reason) }))).toBe(reason);
  });
});
