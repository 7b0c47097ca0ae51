/** Runs one server under test: it is told where the model is, says where it listens, and tells its own CPU and memory. */

/** `make` answers a node:http server for the model server's port. */
export async function serve(make) {
  const server = await make(Number(process.argv[2]));
  server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
  process.once('SIGINT', () => process.exit());
  process.on('message', ({ ask }) => {
    if (ask === 'gc') globalThis.gc?.();
    const { user, system } = process.cpuUsage();
    process.send({ cpu: user + system, rss: process.memoryUsage.rss(), heap: process.memoryUsage().heapUsed });
  });
}
