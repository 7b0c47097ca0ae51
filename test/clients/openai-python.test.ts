/** openai-python and the tools that it has no code for: searches, images and shell calls, to the letter of its types. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '../../src/protocol/record.ts';
import { calls, chatBody, says, type ToolsApp, toolTexts, withTools } from '../engine/tools/support.ts';
import { pythonPackage } from '../support/python-package.ts';
import { draws, withImages } from '../tools/image-generation/images-server.ts';
import { INCLUDING, SENT_RESULTS, searches, searching } from '../tools/web-search/support.ts';
import { type PythonClient, startPythonClient } from './python-client.ts';

const openai = await pythonPackage('openai', '3.54.0');

let client: PythonClient;
let folder: string;

/** What the tools answered, as in the last request to the model. */
function lastTexts({ fake }: ToolsApp): readonly unknown[] {
  const [last] = fake.requests.slice(-1).map(chatBody);
  return Object.values(toolTexts(last ?? { messages: [] }));
}

function typesLike(events: unknown, pattern: RegExp): readonly string[] {
  // The cast: pairs of an event's type and its class, which the script prints.
  return (events as readonly (readonly [string, string])[]).map(([type]) => type).filter((type) => pattern.test(type));
}

const ways = ['previous_response_id', 'history'].flatMap((continuing) =>
  [undefined, 'create', 'stream'].map((stream) => ({ continuing, stream })),
);

openai.describe('openai-python', () => {
  beforeAll(async () => {
    client = startPythonClient(openai.python, 'openai_client.py');
    folder = await mkdtemp(join(tmpdir(), 'openai-python-'));
    await writeFile(join(folder, 'a.md'), 'one\n');
  });
  afterAll(async () => {
    await client.close();
    await rm(folder, { recursive: true });
  });

  describe.each(ways)('streamed by $stream, continued by $continuing', (way) => {
    const run = (app: ToolsApp, scene: JsonObject) => client.run({ url: app.url, folder, ...way, ...scene });

    it('[B-41] reads web searches, and sends them back', () =>
      withTools({ tools: searching().tools }, async (app) => {
        app.fake.reply(searches('one'), says('See [One](https://one.example.com/a).'), says('Done.'));
        const { texts, items, events } = await run(app, { ...INCLUDING, inputs: ['Search.', 'Again.'] });
        expect([texts, items, lastTexts(app)]).toEqual([
          ['See [One](https://one.example.com/a).', 'Done.'],
          [['ResponseFunctionWebSearch', 'ResponseOutputMessage'], ['ResponseOutputMessage']],
          [SENT_RESULTS],
        ]);
        expect(typesLike(events, /web_search|annotation/)).toEqual(
          way.stream
            ? [
                'response.web_search_call.in_progress',
                'response.web_search_call.searching',
                'response.web_search_call.completed',
                'response.output_text.annotation.added',
              ]
            : [],
        );
      }));

    it('[X-13] reads images, and sends them back', () =>
      withImages(async (app) => {
        app.fake.reply(draws('A cat.'), says('There it is.'), says('A cat.'));
        const tools = [{ type: 'image_generation', size: '1024x1024' }];
        const { texts, items, events } = await run(app, { tools, inputs: ['Draw a cat.', 'What is it?'] });
        expect([texts, items, lastTexts(app)]).toEqual([
          ['There it is.', 'A cat.'],
          [['ImageGenerationCall', 'ResponseOutputMessage'], ['ResponseOutputMessage']],
          ['The image was made and shown to the user.'],
        ]);
        expect(typesLike(events, /image_generation/)).toEqual(
          way.stream
            ? ['in_progress', 'generating', 'completed'].map((step) => `response.image_generation_call.${step}`)
            : [],
        );
      }));

    it('[X-13] reads shell calls, and sends their outputs', () =>
      withTools({}, async (app) => {
        app.fake.reply(calls(['call_a', 'shell', '{"commands":["cat a.md","exit 3"]}']), says('Read.'), says('Known.'));
        const tools = [{ type: 'shell' }];
        const { texts, items } = await run(app, { tools, inputs: ['Read the file.', 'Again.'] });
        expect([texts, items, lastTexts(app), app.notes]).toEqual([
          ['Read.', 'Known.'],
          [['ResponseFunctionShellToolCall'], ['ResponseOutputMessage'], ['ResponseOutputMessage']],
          ['one\n\n[exit code 0]\n\n[exit code 3]'],
          [],
        ]);
      }));
  });
});
