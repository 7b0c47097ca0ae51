/** What a late turn of a conversation asks of the store, and what the model receives of it. */
import { memoryStore, type ResponseStore } from '../../src/index.ts';
import { startFakeUpstream, textStream } from '../../src/testing/index.ts';
import { startApp } from '../support/app.ts';
import { askJson } from './client.ts';

const TURNS = 40;

/** A memory store, and the names of the methods that were called since they were last taken. */
function watchedStore() {
  const { get, put, delete: remove, chain } = memoryStore();
  let calls: string[] = [];
  const watched = <Given extends readonly unknown[], Answer>(name: string, method: (...given: Given) => Answer) => {
    return (...given: Given): Answer => {
      calls.push(name);
      return method(...given);
    };
  };
  const store: ResponseStore = {
    name: 'watched',
    get: watched('get', get),
    put: watched('put', put),
    delete: watched('delete', remove),
    chain: watched('chain', chain),
  };
  const taken = () => {
    const last = calls;
    calls = [];
    return last;
  };
  return { store, taken };
}

describe('a long conversation', () => {
  it('[Q-04] [S-03] takes no more calls of the store in any turn than in the second, and sends the model all of it', async () => {
    const { store, taken } = watchedStore();
    const upstream = await startFakeUpstream({ reply: { body: textStream('Hello') } });
    const app = await startApp({ upstream, options: { store } });
    const calls: (readonly string[])[] = [];
    let id: unknown;
    for (let turn = 0; turn < TURNS; turn += 1) {
      ({ id } = await askJson(app.url, id ? { previous_response_id: id } : {}));
      calls.push(taken());
    }
    await Promise.all([app.close(), upstream.close()]);
    const [first, ...later] = calls;
    expect(first).toEqual(['put']);
    expect(later).toEqual(Array.from({ length: TURNS - 1 }, () => ['chain', 'put']));
    const written = Array.from({ length: TURNS }, () => [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello' },
    ]);
    expect(upstream.requests.at(-1)?.body).toMatchObject({ messages: written.flat().slice(0, -1) });
  });
});
