/** A database of its own for the tests of one `describe`, and a host that is connected to it. */
import type { Service } from '../../support/services.ts';
import type { EngineDatabase } from './engine-databases.ts';
import { type HostConnection, hosts } from './engine-hosts.ts';

/** Starts both before the tests, and ends both after them. */
export function hostPerSuite(database: EngineDatabase, use: (host: HostConnection, server: Service) => void): void {
  let server: Service | undefined;
  let host: HostConnection | undefined;
  beforeAll(async () => {
    server = await database.start();
    host = await hosts[database.name](server.url);
    use(host, server);
  });
  afterAll(async () => {
    await host?.end();
    await server?.close();
  });
}
