/** Nodes of a cluster, each in a process of its own, and the requests to them. */
import { answerOf, stopped } from '../processes.mjs';
import { startDatabase } from '../stores/openers.mjs';

/** The names of the databases in the tables. */
export const TITLES = { memory: 'memory', redis: 'Redis', postgres: 'PostgreSQL' };

/**
 * Starts each of these databases in turn, calls `measure` with its URL, and returns the rows. A database that is not installed has
 * one row, which says so.
 */
export async function overEach(databases, measure) {
  const rows = [];
  for (const database of databases) rows.push(...(await over(database, measure)));
  return rows;
}

async function over(database, measure) {
  try {
    const server = database === 'memory' ? { url: '', close() {} } : await startDatabase(database);
    return await measure({ database, url: server.url }).finally(() => server.close());
  } catch (error) {
    return [{ name: TITLES[database], values: {}, note: `not measured: ${error.message}` }];
  }
}

/** Starts a node over the model server at that port. */
export async function startNode(start, upstreamPort, setup) {
  const child = start('servers/node.mjs', [upstreamPort, JSON.stringify(setup)], 'server');
  const { port } = await answerOf(child);
  return {
    ...{ name: setup.name, port, host: '127.0.0.1', path: '/v1/responses', base: `http://127.0.0.1:${port}/v1` },
    /** CPU in µs, RSS and heap in bytes; `collected` collects garbage first. */
    usage: (ask = 'usage') => answerOf(child, { ask }),
    stop: () => stopped(child),
  };
}

/** Begins a response in the background; returns its id. */
export async function begin({ base }, body) {
  const response = await fetch(`${base}/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ background: true, ...body }),
  });
  if (!response.ok) throw new Error(`Not begun: ${await response.text()}`);
  return (await response.json()).id;
}

/** The events of a response as a node streams them: the text of each piece that contains an event. */
export async function* eventsOf({ base }, id) {
  const response = await fetch(`${base}/responses/${id}?stream=true`);
  const decoder = new TextDecoder();
  for await (const bytes of response.body) {
    const text = decoder.decode(bytes, { stream: true });
    // Heartbeats are comments.
    if (text.includes('data:')) yield text;
  }
}
