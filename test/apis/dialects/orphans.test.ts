/** Outputs whose calls are unknown: open-responses-server makes a call for them, the others refuse them. */
import type { DialectName } from '../../../src/ports/dialect.ts';
import { type RequestApp, startRequestApp } from '../../support/request-app.ts';

let app: RequestApp;
afterEach(() => app.close());

const USER = { role: 'user', content: 'Go.' };
const OUTPUT = { type: 'function_call_output', call_id: 'call_1', output: 'Seen.' };

it('[K-12] an orphan reaches the model behind a call in the dialect of open-responses-server', async () => {
  app = await startRequestApp({ dialect: 'open-responses-server' });
  const named = { ...OUTPUT, call_id: 'call_2', name: 'look', arguments: '{"a":1}' };
  expect((await app.create({ input: [USER, OUTPUT, named] })).status).toBe(200);
  const made = (id: string, name: string, args: string) => ({
    id,
    type: 'function',
    function: { name, arguments: args },
  });
  const pair = (id: string, name: string, args: string) => [
    { role: 'assistant', content: null, tool_calls: [made(id, name, args)] },
    { role: 'tool', tool_call_id: id, content: 'Seen.' },
  ];
  const pairs = [...pair('call_1', 'unknown_tool', '{}'), ...pair('call_2', 'look', '{"a":1}')];
  expect(app.requested().messages).toEqual([USER, ...pairs]);
});

it.each<DialectName>(['openai', 'vllm-responses', 'tokligence'])(
  '[K-12] an orphan is refused in the dialect %s',
  async (dialect) => {
    app = await startRequestApp({ dialect });
    expect(await app.create({ input: [USER, OUTPUT] })).toMatchObject({ status: 400 });
  },
);
