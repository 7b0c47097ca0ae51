/** What a client receives of rounds whose tools the server runs, besides their text: the same in JSON as in a stream. */
import { functionTools } from '../../../src/index.ts';
import { type JsonObject, recordsIn } from '../../../src/protocol/record.ts';
import { chatCompletion, chatStream, type FakeRequest } from '../../../src/testing/index.ts';
import { askChunks, askJson, type ChatApp, QUESTION, requestedOf, startChatApp } from './chat-app.ts';
import { calling, wired } from './script.ts';

let app: ChatApp;
beforeEach(async () => {
  app = await startChatApp({ tools: functionTools({ look: { execute: () => 'found' } }) });
});
afterEach(() => app.close());

const THEIRS = { type: 'function', function: { name: 'theirs', parameters: {} } };

/** One answer of the model: each text with its log probability, and a citation of its own first word. */
function says(text: string, call?: string) {
  const page = (url: string, end: number) => ({
    type: 'url_citation',
    url_citation: { url, title: '', start_index: 0, end_index: end },
  });
  const spoken = {
    content: text,
    reasoning_content: 'Hm.',
    annotations: [page(`https://example.com/${text}`, text.length)],
    reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }],
    provider_field: text,
  };
  const logprobs = { content: [{ token: text, logprob: -1 }], refusal: null };
  const calls = call === undefined ? [] : [calling(call, {}, `call_${text}`)];
  return ({ body }: FakeRequest) => {
    if (!(body as JsonObject).stream) {
      const { choices, ...head } = JSON.parse(
        chatCompletion({ ...spoken, ...(call === undefined ? {} : { tool_calls: calls.map(wired) }) }),
      );
      return { body: JSON.stringify({ ...head, choices: [{ ...choices[0], logprobs }] }) };
    }
    const words = JSON.stringify({ id: text, choices: [{ index: 0, delta: spoken, logprobs, finish_reason: null }] });
    const rest = chatStream(...calls.map((each) => ({ tool_calls: [{ index: 0, ...wired(each) }] })));
    return { body: `data: ${words}\n\n${rest}` };
  };
}

const ROUNDS = [says('One. ', 'look'), says('Two. ', 'look'), says('Three.')];

it('[S-19] [A-27] [A-28] hold reasoning, citations, log probabilities and fields of all rounds, in both forms', async () => {
  app.fake.reply(...ROUNDS, ...ROUNDS);
  const { body } = await askJson(app.url, {});
  const [whole = {}] = recordsIn(body.choices);
  const streamed = (await askChunks(app.url, {})).flatMap(({ choices }) => recordsIn(choices));
  const lists = (name: string) => streamed.flatMap(({ delta }) => recordsIn((delta as JsonObject)[name]));
  const texts = (name: string) => streamed.map(({ delta }) => (delta as JsonObject)[name] ?? '').join('');
  const gathered = {
    content: texts('content'),
    reasoning_content: texts('reasoning_content'),
    annotations: lists('annotations'),
    reasoning_details: lists('reasoning_details'),
    provider_field: 'Three.',
    logprobs: streamed.flatMap(({ logprobs }) => recordsIn((logprobs as JsonObject | null)?.content)),
  };
  expect({ ...(whole.message as JsonObject), logprobs: (whole.logprobs as JsonObject).content }).toEqual({
    role: 'assistant',
    ...gathered,
  });
  const text = 'One. Two. Three.';
  const cited = gathered.annotations.map(({ url_citation: page }) => page as Record<string, number>);
  expect(cited.map(({ start_index: start, end_index: end }) => text.slice(start, end))).toEqual([
    'One. ',
    'Two. ',
    'Three.',
  ]);
  expect([gathered.content, gathered.reasoning_content, gathered.logprobs.length]).toEqual([text, 'Hm.Hm.Hm.', 3]);
});

it('[T-04] go back to the model in their own messages where the client answers a call of the last', async () => {
  const last = says('Two. ', 'theirs');
  app.fake.reply(says('One. ', 'look'), last, says('Three.'));
  const request = { ...QUESTION, tools: [THEIRS] };
  const { body } = await askJson(app.url, request);
  const [{ message } = {}] = recordsIn(body.choices);
  const answer = { role: 'tool', tool_call_id: 'call_Two. ', content: 'done' };
  await askJson(app.url, { ...request, messages: [...request.messages, message, answer] });
  const [, first, , second] = requestedOf(app).messages;
  const fields = ({ content, reasoning_content, annotations, reasoning_details }: JsonObject = {}) =>
    JSON.stringify([content, reasoning_content, recordsIn(annotations).length, recordsIn(reasoning_details).length]);
  expect([fields(first), fields(second)]).toEqual(['["One. ","Hm.",1,1]', '["Two. ","Hm.",1,1]']);
});
