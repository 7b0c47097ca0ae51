/** Commands of the hosted shell that did not run, since the model was stopped in the middle of its next call. */
import type { ToolProvider } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { toolCallStream } from '../../../src/testing/index.ts';
import { chatBody, says, shape, withTools } from '../../engine/tools/support.ts';
import { post } from '../../support/responses-client.ts';

const HOSTED: ToolProvider = {
  name: 'shell',
  list: () => [{ server: 'shell', name: 'shell', requestedBy: 'shell' }],
  call: async () => ({ content: 'never' }),
};
const TWO = ['ls', 'pwd'].map((command, at) => ({
  id: `call_${at}`,
  name: 'shell',
  arguments: `{"commands":["${command}"]}`,
}));
// The second has no end.
const STOPPED = toolCallStream(TWO).replace('"tool_calls"}', '"length"}').replace('[\\"pwd\\"]}', '[\\"pw');

it.each([
  ['with previous_response_id', true],
  ['with its items sent back', false],
])('[E-02] are left out of the next request, which goes on %s', async (_, isStored) => {
  await withTools({ tools: HOSTED }, async (app) => {
    const ask = async (body: JsonObject) => {
      const tools = [{ type: 'shell', environment: { type: 'container_auto' } }];
      const { status, text } = await post(app.url, { tools, store: isStored, ...body });
      return { status, ...JSON.parse(text) };
    };
    app.fake.reply({ body: STOPPED }, says('Done.'));
    const first = await ask({});
    expect([first.status, shape(first)]).toEqual(['incomplete', ['shell_call completed', 'shell_call incomplete']]);
    const input = [{ role: 'user', content: 'Go on.' }];
    const next = isStored ? { previous_response_id: first.id, input } : { input: [...first.output, ...input] };
    const second = await ask(next);
    expect([second.error, second.status]).toEqual([null, 'completed']);
    expect(chatBody(app.fake.requests.at(-1) as never).messages.filter(({ role }) => role === 'tool')).toEqual([]);
  });
});
