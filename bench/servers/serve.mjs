/** Runs one server under test: it receives the model server's port, and reports its own port, CPU and memory. */

/** `make` returns a node:http server for the model server's port; `asks` are further queries that it answers, by name. */
export async function serve(make, asks = {}) {
  const server = await make(Number(process.argv[2]));
  // More than Node's 511: the kernel resets connections that begin while a busy process accepts none.
  const address = { port: 0, host: '127.0.0.1', backlog: 4096 };
  server.listen(address, () => process.send({ port: server.address().port }));
  process.once('disconnect', () => process.exit());
  process.on('message', ({ ask, ...more }) => {
    Promise.resolve((asks[ask] ?? usage)({ ask, ...more }))
      .catch((error) => ({ error: String(error) }))
      .then((answer) => process.send(answer));
  });
}

function usage({ ask }) {
  if (ask === 'collected') globalThis.gc?.();
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed: heap } = process.memoryUsage();
  return { cpu: user + system, rss, heap };
}
