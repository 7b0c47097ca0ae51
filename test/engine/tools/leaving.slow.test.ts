/** Silence, hang-ups and leaks: what a tool that runs long must not break. */
import { getEventListeners, once } from 'node:events';
import { memoryStore, type ResponseStore, type RouterOptions, type ToolProvider } from '../../../src/index.ts';
import type { FakeRequest, FakeResponder } from '../../../src/testing/index.ts';
import { HOUR_LONG_DRAIN, HOUR_LONG_LIMITS } from '../../support/patience.ts';
import { calls, chatBody, deferred, providerOf, saying, says, shape, streamOf, withTools } from './support.ts';

const WAIT = calls(['call_w', 'wait']);

/** A tool that answers when the test says so. */
function waiting() {
  const began = deferred<AbortSignal>();
  const answer = deferred<string>();
  const tools = providerOf('slow', ['wait'], async (_, signal) => {
    began.resolve(signal);
    return saying(await answer.promise);
  });
  return { tools, began: began.promise, answer: answer.resolve };
}

function ask(url: string, body: object, signal: AbortSignal): Promise<Response> {
  return fetch(`${url}/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', input: 'Go.', ...body }),
    signal,
  });
}

/** A store that counts what is put. */
function counting(): ResponseStore & { readonly puts: () => number } {
  const store = memoryStore();
  let puts = 0;
  return {
    ...store,
    put(response) {
      puts += 1;
      return store.put(response);
    },
    puts: () => puts,
  };
}

describe('a client that leaves while a tool runs', () => {
  it.each([
    ['a stream', true],
    ['JSON', false],
  ])('[P-10, T-05] aborts the tool at once, and nothing is stored or asked again: %s', async (_, stream) => {
    const { tools, began } = waiting();
    const store = counting();
    await withTools({ tools, store, limits: HOUR_LONG_LIMITS }, async ({ url, fake, router }) => {
      fake.reply(WAIT, says('Too late.'));
      const client = new AbortController();
      const answer = ask(url, { stream }, client.signal).then((response) => response.text());
      const signal = await began;
      client.abort();
      if (!signal.aborted) await once(signal, 'abort');
      await expect(answer).rejects.toThrow('abort');
      // Resolves when no turn runs any more.
      await router.drain(HOUR_LONG_DRAIN);
      expect({ stored: store.puts(), models: fake.requests.length }).toEqual({ stored: 0, models: 1 });
    });
  });

  it('[P-10] aborts every tool that runs, and starts none that waits', async () => {
    const signals: AbortSignal[] = [];
    const both = deferred();
    const tools = providerOf('slow', ['wait'], (_, signal) => {
      if (signals.push(signal) === 2) both.resolve();
      return new Promise(() => {});
    });
    await withTools({ tools, limits: { tools: { parallelCalls: 2 } } }, async ({ url, fake, router }) => {
      fake.reply(calls(['a', 'wait'], ['b', 'wait'], ['c', 'wait'], ['d', 'wait']));
      const client = new AbortController();
      const answer = ask(url, { stream: true }, client.signal).then((response) => response.text());
      await both.promise;
      client.abort();
      await expect(answer).rejects.toThrow('abort');
      await router.drain(HOUR_LONG_DRAIN);
      expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    });
  });

  it('[P-10] is not informed of a tool that fails because of it', async () => {
    const began = deferred<AbortSignal>();
    const tools = providerOf('slow', ['wait'], (_, signal) => {
      began.resolve(signal);
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
    });
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    await withTools({ tools }, async ({ url, fake, router }) => {
      fake.reply(WAIT);
      const client = new AbortController();
      const answer = ask(url, {}, client.signal);
      await began.promise;
      client.abort();
      await expect(answer).rejects.toThrow('abort');
      await router.drain(HOUR_LONG_DRAIN);
    });
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
  });
});

describe('a tool that runs long', () => {
  /** The frames of a stream up to and with the one that is looked for; what was read so far, and the rest. */
  async function readUntil(response: Response, found: (text: string) => boolean) {
    const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (!found(text)) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`The stream ended: ${text}`);
      text += value;
    }
    const rest = async () => {
      for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value;
      return text;
    };
    return { text, rest };
  }

  const signal = new AbortController().signal;
  const heartbeats = (text: string) => text.split(': heartbeat\n\n').length - 1;

  it('[P-15, A-20] has heartbeats while it is idle, each fourth an event that is numbered with the others', async () => {
    const { tools, answer } = waiting();
    await withTools({ tools, heartbeat: { intervalMs: 10 } }, async ({ url, fake }) => {
      fake.reply(WAIT, says('Done.'));
      const response = await ask(url, { stream: true }, signal);
      const { text, rest } = await readUntil(response, (seen) => seen.includes('event: keepalive\n'));
      answer('Here I am.');
      const whole = await rest();
      const types = [...whole.matchAll(/^event: (\S+)$/gm)].map(([, type]) => type);
      const numbers = [...whole.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) => Number(number));
      // From the last event before it: a slow machine has heartbeats before the call, and behind the fourth.
      const before = text.slice(0, text.indexOf('event: keepalive\n'));
      const idle = before.slice(before.lastIndexOf('event: '));
      const [done, heartbeatFrame, end] = [
        'response.mcp_call_arguments.done',
        'keepalive',
        'response.mcp_call.completed',
      ].map((type) => types.indexOf(type)) as [number, number, number];
      expect({
        heartbeats: heartbeats(idle),
        between: done < heartbeatFrame && heartbeatFrame < end,
        dense: numbers.every((number, index) => number === index),
        last: types.at(-1),
      }).toEqual({ heartbeats: 3, between: true, dense: true, last: 'response.completed' });
    });
  });

  it('[T-03, P-01] is sent to the client before it runs, with its whole arguments', async () => {
    const { tools, began, answer } = waiting();
    await withTools({ tools }, async ({ url, fake }) => {
      fake.reply(WAIT, says('Done.'));
      const response = await ask(url, { stream: true }, signal);
      await began;
      const { rest } = await readUntil(response, (seen) => seen.includes('response.mcp_call_arguments.done'));
      answer('Here I am.');
      expect(await rest()).toContain('event: response.completed\n');
    });
  });

  it('[P-10] leaves other requests alone', async () => {
    const { tools, began, answer } = waiting();
    await withTools({ tools }, async ({ url, fake }) => {
      fake.reply(WAIT, says('Meanwhile.'), says('Done.'));
      const slow = streamOf(url);
      await began;
      const quick = await streamOf(url);
      answer('Here I am.');
      expect([shape(quick.response), shape((await slow).response)]).toEqual([
        ['message completed'],
        ['mcp_list_tools completed', 'mcp_call wait completed', 'message completed'],
      ]);
    });
  });
});

describe('1,000 calls', () => {
  const ROUNDS = 100;
  const PARALLEL = 10;
  const NAMES = Array.from({ length: PARALLEL }, (_, n) => n);

  /** A model that asks for ten calls in each of a hundred rounds. */
  const model: FakeResponder = (request: FakeRequest) => {
    const round = chatBody(request).messages.filter(({ role }) => role === 'assistant').length;
    if (round === ROUNDS) return says('Done.');
    return calls(...NAMES.map((n) => [`call_${round}_${n}`, 'tick', `{"n":${round * PARALLEL + n}}`] as const));
  };

  it('[P-10, T-02] in one response leave no listener behind, neither on the turn nor on the process', async () => {
    const turns = new Set<AbortSignal>();
    let ran = 0;
    let most = 0;
    const received: string[] = [];
    const tools: ToolProvider = {
      ...providerOf('clock', ['tick'], async ({ arguments: { n } }) => {
        ran += 1;
        for (const turn of turns) most = Math.max(most, getEventListeners(turn, 'abort').length);
        return saying(`tick ${n}`);
      }),
      list(signal) {
        turns.add(signal);
        return [{ server: 'clock', name: 'tick' }];
      },
    };
    const limits = { tools: { iterations: ROUNDS, calls: ROUNDS * PARALLEL, parallelCalls: PARALLEL } };
    const options: RouterOptions = { tools, limits };
    const warn = (warning: Error) => void received.push(warning.name);
    process.on('warning', warn);
    const before = process.eventNames().map((name) => [name, process.listenerCount(name)]);
    await withTools(options, async ({ url, fake }) => {
      fake.reply(model);
      const { response } = await streamOf(url);
      expect([response.status, response.output.length]).toEqual(['completed', ROUNDS * PARALLEL + 2]);
    });
    const after = process.eventNames().map((name) => [name, process.listenerCount(name)]);
    process.off('warning', warn);
    const left = [...turns].map((turn) => getEventListeners(turn, 'abort').length);
    expect({ ran, left, received, after }).toEqual({ ran: 1000, left: [0], received: [], after: before });
    // Those of the calls that run, the turn's own, and the model server's.
    expect(most).toBeLessThanOrEqual(PARALLEL + 5);
  });
});
