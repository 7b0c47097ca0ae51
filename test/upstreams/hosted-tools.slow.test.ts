/** Hosted tools over an Anthropic Messages server: its model makes the calls, and gets the results as its own kind of blocks. */

import { shape } from '../engine/tools/support.ts';
import {
  type Call,
  CLIENT_CALLS,
  CLIENT_OUTPUTS,
  FOUR_CALLS,
  FOUR_RESULTS,
  FOUR_TOOLS,
  SERVER_CALLS,
  withTwoProviders,
} from '../support/four-tools.ts';
import { askForJson, askForStream, withoutIdentity } from '../support/responses-client.ts';
import { PNG } from '../tools/image-generation/images-server.ts';
import { type MessagesApp, startMessagesApp, streamOf } from './messages-app.ts';
import { messagesStream, textBlock, toolBlock } from './messages-bytes.ts';
import { expectMessagesRequest, type MessagesRequest } from './messages-schema.ts';

function calling(calls: readonly Call[]) {
  const blocks = calls.map(([id, name, args], index) => toolBlock(index, id, name, args));
  return streamOf(messagesStream(blocks, { stop: 'tool_use' }));
}

const ROUNDS = [calling(SERVER_CALLS), calling(CLIENT_CALLS), streamOf(messagesStream([textBlock(0, 'Done.')]))];

const OFFERED = ['shell', 'apply_patch', 'web_search', 'open_page', 'image_generation'];
const SEEN = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } };

/** What each tool answered: its text, and the image that the model sees. */
const RESULTS = FOUR_RESULTS.map((text, at) => [{ type: 'text', text }, ...(at === 1 ? [SEEN] : [])]);

function resultsIn(request: MessagesRequest | undefined): readonly unknown[] {
  const blocks = (request?.messages ?? []).flatMap(({ content }): readonly object[] =>
    typeof content === 'string' ? [] : content,
  );
  return blocks.flatMap((block) => ('tool_use_id' in block && 'content' in block ? [block.content] : []));
}

let app: MessagesApp;
afterEach(() => app.close());

it('[X-07] [X-13] hosted tools are called, and their results reach the model in the same and in the next turn', () =>
  withTwoProviders(async ({ tools }) => {
    app = await startMessagesApp({}, { tools });
    const body = { tools: FOUR_TOOLS };
    app.fake.reply(...ROUNDS);
    const { response: streamed } = await askForStream(app.url, body);
    const answered = { ...body, input: CLIENT_OUTPUTS, previous_response_id: streamed.id };
    const { response: ended } = await askForStream(app.url, answered);
    app.fake.reply(...ROUNDS);
    const json = await askForJson(app.url, body);
    expect([shape(streamed), shape(ended), withoutIdentity(json)]).toEqual([
      FOUR_CALLS,
      ['message completed'],
      withoutIdentity(streamed),
    ]);
    const [first, second, third] = app.fake.requests.map(({ body: sent }) => expectMessagesRequest(sent));
    expect(first?.tools).toMatchObject(OFFERED.map((name) => ({ name })));
    expect([second, third].map(resultsIn)).toEqual([RESULTS.slice(0, 2), RESULTS]);
  }));
