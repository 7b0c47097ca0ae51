/** The answers of the servers under test, which tests compare with those of the model. */
import { ask, bodyOf } from './answers.mjs';
import { startBench } from './bench.mjs';
import { processes } from './processes.mjs';
import * as answers from './scenarios/answers.mjs';
import { startMcp, toolBodies } from './scenarios/tools.mjs';
import { TOOL_SERVERS, withArgument } from './servers.mjs';

/** By the server's name and then by the plan: text, arguments of calls and usage. */
export async function answersToPlans() {
  return withBench(async (bench) => {
    const servers = await bench.startAll();
    return Object.fromEntries(await Promise.all(servers.map(async (server) => [server.name, await toAll(server)])));
  });
}

async function toAll(server) {
  const asked = Object.values(answers).map(async (scenario) => {
    return [scenario.plan, await answerOf(server, bodyOf(server.api, scenario.plan, scenario.ask))];
  });
  return Object.fromEntries(await Promise.all(asked));
}

/** By kind of tool and then by the server's name: the answer after the server has run the tool. */
export async function answersAfterTools() {
  return withBench(async (bench) => {
    const { url } = await startMcp(bench);
    const kinds = Object.entries(TOOL_SERVERS).map(async ([kind, servers]) => {
      const started = await bench.startAll(withArgument(servers, url));
      const asked = started.map(async (server) => [server.name, await answerOf(server, toolBodies(server)[0][0])]);
      return [kind, Object.fromEntries(await Promise.all(asked))];
    });
    return Object.fromEntries(await Promise.all(kinds));
  });
}

async function answerOf(server, body) {
  const { text, calls, usage } = await ask(server, body);
  return { text, calls, usage };
}

async function withBench(run) {
  const { start, stopAll } = processes({ pinned: false });
  try {
    return await run(await startBench({ start, rounds: 1, scenarioMs: 0, quick: true, peers: [], upstreamPort: 0 }));
  } finally {
    stopAll();
  }
}
