/** What the tools of a server cost in each request: all listed, above `maxTools`, and deferred. `node bench/tool-lists.mjs [--rounds 100]`, over the build. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '100' }, model: { type: 'boolean' } } });
if (values.model) startModel();
else await measure(Number(values.rounds));

/** The model server, in a process of its own: it answers with one word, and reports the size of the request. */
function startModel() {
  const server = createServer((request, response) => {
    let bytes = 0;
    request.on('data', (chunk) => {
      bytes += chunk.length;
    });
    request.on('end', () => {
      const message = { role: 'assistant', content: String(bytes) };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, message, finish_reason: 'stop' }] }));
    });
  });
  server.listen(0, '127.0.0.1', () => process.send(server.address().port));
  process.once('disconnect', () => process.exit());
}

function toolsOf(count, isDeferred) {
  const tools = Array.from({ length: count }, (_, n) => ({
    server: 'issues',
    name: `issues_operation_${n}`,
    description: `Finds or changes the issues of a project by their state, number ${n}. Returns them as a list.`,
    parameters: {
      type: 'object',
      properties: {
        project: { type: 'string', description: 'The key of the project.' },
        state: { type: 'string', enum: ['open', 'closed', 'all'], description: 'Which issues.' },
        limit: { type: 'integer', description: 'How many at most.' },
      },
      required: ['project'],
    },
    ...(isDeferred(n) ? { deferred: true } : {}),
  }));
  return { name: 'issues', list: () => tools, call: async () => ({ content: 'None.' }) };
}

async function asked(handler, path, body) {
  const request = new Request(`http://localhost${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return (await handler(request)).json();
}

async function measure(rounds) {
  const { chatCompletionsUpstream, openResponses } = await import('../dist/esm/core.js');
  const model = fork(fileURLToPath(import.meta.url), ['--model']);
  const [port] = await once(model, 'message');
  const upstream = chatCompletionsUpstream({ baseURL: `http://127.0.0.1:${port}/v1` });
  const ways = [
    ['at once', () => false],
    ['64 at once', (n) => n >= 64],
    ['deferred', () => true],
  ];
  console.log('| tools | offered | bytes | tokens | ms CPU |\n|---|---|---|---|---|');
  for (const count of [10, 100, 1_000]) {
    for (const [name, isDeferred] of ways) {
      const handler = openResponses({
        upstream,
        tools: toolsOf(count, isDeferred),
        scope: () => 'one',
        logger: false,
      }).fetch;
      const body = { model: 'm', input: 'Which issues are open?', store: false };
      const { input_tokens: tokens } = await asked(handler, '/responses/input_tokens', body);
      const answer = await asked(handler, '/responses', body);
      for (let round = 0; round < rounds / 5; round += 1) await asked(handler, '/responses', body);
      const began = process.cpuUsage();
      for (let round = 0; round < rounds; round += 1) await asked(handler, '/responses', body);
      const { user, system } = process.cpuUsage(began);
      const bytes = answer.output[0].content[0].text;
      console.log(`| ${count} | ${name} | ${bytes} | ${tokens} | ${((user + system) / rounds / 1_000).toFixed(2)} |`);
    }
  }
  await upstream.close();
  model.disconnect();
}
