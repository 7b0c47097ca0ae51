/** A message that comes in front of the outputs of earlier calls: the model reads it in front of the calls. */
import { textStream, toolCallStream } from '../../src/testing/index.ts';
import { type RequestApp, requestAppPerTest } from '../support/request-app.ts';

let app: RequestApp;
requestAppPerTest((started) => {
  app = started;
});

const TOOLS = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }];
const calling = (...ids: readonly string[]) => ({
  body: toolCallStream(ids.map((id) => ({ id, name: 'look', arguments: '{}' }))),
});
const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: `of ${id}` });
const says = (content: string) => ({ role: 'user', content });
const ANSWER = { body: textStream('Done.') };

/** The roles and texts that the model received last. */
const sent = () => app.requested().messages.map(({ role, content }) => `${role} ${content}`);

it('[K-10] keeps message, call and output in this order, now and in later turns', async () => {
  app.upstream.reply(calling('a', 'b'), ANSWER, ANSWER);
  const first = (await app.create({ input: [says('One.')], tools: TOOLS })).body;
  const input = [says('Two.'), output('a'), output('b')];
  const second = (await app.create({ input, tools: TOOLS, previous_response_id: first.id })).body;
  const order = ['user One.', 'user Two.', 'assistant null', 'tool of a', 'tool of b'];
  expect(sent()).toEqual(order);
  await app.create({ input: [says('Three.')], tools: TOOLS, previous_response_id: second.id });
  expect(sent()).toEqual([...order, 'assistant Done.', 'user Three.']);
});

it('[K-10] leaves a message behind the outputs where it is, and the order of a client that sends the whole conversation', async () => {
  app.upstream.reply(calling('a'), ANSWER, ANSWER);
  const first = (await app.create({ input: [says('One.')], tools: TOOLS })).body;
  await app.create({ input: [output('a'), says('Two.')], tools: TOOLS, previous_response_id: first.id });
  expect(sent()).toEqual(['user One.', 'assistant null', 'tool of a', 'user Two.']);
  const call = { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}' };
  await app.create({ input: [says('One.'), call, says('Two.'), output('a')], tools: TOOLS });
  expect(sent()).toEqual(['user One.', 'assistant null', 'tool of a', 'user Two.']);
});
