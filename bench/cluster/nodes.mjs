/** Nodes of a cluster, each in a process of its own, and what is asked of them. */
import { stopped, told } from '../processes.mjs';
import { startDatabase } from '../stores/openers.mjs';

/** How the tables name the databases. */
export const TITLES = { memory: 'memory', redis: 'Redis', postgres: 'PostgreSQL' };

/**
 * Calls `measure` with the URL of each of these databases in turn, which it starts and ends; answers what that answers. A
 * database that is not on this machine has one row, which says so.
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
  const { port } = await told(child);
  return {
    ...{ name: setup.name, port, host: '127.0.0.1', path: '/v1/responses', base: `http://127.0.0.1:${port}/v1` },
    /** CPU in µs, RSS and heap in bytes. */
    usage: () => told(child, { ask: 'usage' }),
    stop: () => stopped(child),
  };
}

/** Begins a response in the background; answers its id. */
export async function begin({ base }, body) {
  const response = await fetch(`${base}/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ background: true, ...body }),
  });
  if (!response.ok) throw new Error(`Not begun: ${await response.text()}`);
  return (await response.json()).id;
}

/** The events of a response as a node streams them: the text of each piece, once there is an event in it. */
export async function* eventsOf({ base }, id) {
  const response = await fetch(`${base}/responses/${id}?stream=true`);
  const decoder = new TextDecoder();
  for await (const bytes of response.body) {
    const text = decoder.decode(bytes, { stream: true });
    // Heartbeats are comments.
    if (text.includes('data:')) yield text;
  }
}
