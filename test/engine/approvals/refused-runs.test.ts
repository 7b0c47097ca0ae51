/** Approvals in requests for the background that are refused: the call has not run, and can be approved again. */
import { memoryStore, type RouterOptions, type ToolProvider } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { startFakeUpstream, textStream, toolCallStream } from '../../../src/testing/index.ts';
import { askJson } from '../../http/client.ts';
import { startApp } from '../../support/app.ts';

/** Whose queue refuses the first response. */
function refusingEngine(): Partial<RouterOptions> {
  let isDown = true;
  let run = (_: unknown): unknown => undefined;
  const submit = async (key: unknown) => {
    if (isDown) {
      isDown = false;
      throw new Error('The queue is down.');
    }
    void run({ key, signal: new AbortController().signal });
  };
  const engine = { name: 'refusing', takesOver: false, submit, release: async () => {}, close: async () => {} };
  const start = (worker: { run(claimed: never): Promise<unknown> }) => {
    run = (claimed) => worker.run(claimed as never);
  };
  return { background: { engine: { ...engine, start } } };
}

/** Which refuses the start of the first response in the background. */
function refusingStore(): Partial<RouterOptions> {
  let isDown = true;
  const store = memoryStore();
  return {
    store: {
      ...store,
      put(response) {
        if (!isDown || response.resource.status !== 'in_progress') return store.put(response);
        isDown = false;
        throw new Error('The store is down.');
      },
    },
  };
}

it.each([
  ['its queue', refusingEngine],
  ['its store', refusingStore],
])('[T-09] an approval counts once %s takes the response that it was refused in', async (_, refusing) => {
  const model = await startFakeUpstream();
  const runs: string[] = [];
  const tools: ToolProvider = {
    name: 'files',
    list: () => [{ server: 'files', name: 'write' }],
    async call({ name }) {
      runs.push(name);
      return { content: 'written' };
    },
  };
  const options = { tools, approval: () => true, logger: false as const, hooks: { onError() {} }, ...refusing() };
  const app = await startApp({ upstream: model, options });
  try {
    model.reply(
      { body: toolCallStream([{ id: 'call_1', name: 'write', arguments: '{}' }]) },
      { body: textStream('Done.') },
    );
    const { id, output } = await askJson(app.url);
    // The cast: a list of items.
    const request = (output as readonly JsonObject[]).find(({ type }) => type === 'mcp_approval_request');
    const answer = { type: 'mcp_approval_response', approval_request_id: request?.id, approve: true };
    const body = { model: 'fake-model', background: true, stream: true, previous_response_id: id, input: [answer] };
    const asked = async () => {
      const response = await fetch(`${app.url}/responses`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return [response.status, await response.text()] as const;
    };
    const [refused, error] = await asked();
    const [status, events] = await asked();
    const types = [/store_error/.test(error), /event: response.completed/.test(events)];
    expect([refused, status, types, runs]).toEqual([500, 200, [true, true], ['write']]);
    const [again] = await asked();
    expect([again, runs]).toEqual([400, ['write']]);
  } finally {
    await app.close();
    await model.close();
  }
});
