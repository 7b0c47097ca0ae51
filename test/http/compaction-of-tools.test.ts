/** What the summary of a conversation is made of, where its tools have results of their own. */
import { memoryStore, type RouterOptions } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { calls, chatBody, providerOf, says, type ToolsApp, withTools } from '../engine/tools/support.ts';
import { post } from '../support/responses-client.ts';

interface Answer {
  readonly id: string;
  readonly output: readonly (JsonObject & { readonly type: string })[];
}

async function ask(app: ToolsApp, body: JsonObject): Promise<Answer> {
  return JSON.parse((await post(app.url, body)).text);
}

/** The texts that the model is asked to summarise. */
async function summarised(app: ToolsApp, id: string): Promise<string> {
  app.fake.reply(says('A summary.'));
  const response = await fetch(`${app.url}/responses/compact`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', previous_response_id: id }),
  });
  expect(response.status).toBe(200);
  const { messages } = chatBody(app.fake.requests.at(-1) as never);
  return messages.map(({ content }) => content).join('\n');
}

const crm = {
  ...providerOf('crm', []),
  list: () => [{ server: 'crm', name: 'find', description: 'Finds a customer.', deferred: true }],
};
const OPTIONS: RouterOptions = { store: memoryStore(), secret: 'a secret of more than sixteen bytes', tools: crm };

it.each(['mcp_call', 'function_call'] as const)(
  '[S-14] [T-07] has the names of the tools that a search has found, shown as %s',
  async (toolCalls) => {
    await withTools({ ...OPTIONS, show: { toolCalls } }, async (app) => {
      app.fake.reply(calls(['call_1', 'tool_search', '{"query":"find a customer"}']), says('Found.'));
      const text = await summarised(app, (await ask(app, {})).id);
      expect(text).toContain('{"found":["find"]}');
      expect(text).not.toContain('No tool fits');
    });
  },
);

it('[S-14] has what the user has denied, and why', async () => {
  const options = { ...OPTIONS, tools: providerOf('crm', ['find']), approval: () => true };
  await withTools(options, async (app) => {
    app.fake.reply(calls(['call_1', 'find', '{"n":1}']), says('Then not.'));
    const { id, output } = await ask(app, {});
    const requests = output.filter(({ type }) => type === 'mcp_approval_request');
    const input = requests.map(({ id: approval_request_id }) => {
      return { type: 'mcp_approval_response', approval_request_id, approve: false, reason: 'Not that one.' };
    });
    const next = await ask(app, { previous_response_id: id, input });
    const text = await summarised(app, next.id);
    expect(text).toContain('[Called the tool find with: {"n":1}]');
    expect(text).toContain('Not that one.');
  });
});
