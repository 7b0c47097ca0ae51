/** Uploaded files in requests of both APIs: what the model server receives of them, and whose they are. */
import express from 'express';
import OpenAI, { toFile } from 'openai';
import { filesRouter, memoryFiles, type ResponseKey } from '../../../src/files.ts';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  memoryStore,
  type RouterOptions,
  responsesRouter,
} from '../../../src/index.ts';
import { type FakeUpstream, startFakeUpstream, textStream } from '../../../src/testing/index.ts';
import { type ChatBody, chatBody, says } from '../../engine/tools/support.ts';
import { type Listening, listening } from '../../support/listening.ts';
import { interpreter, runs } from '../../tools/code-interpreter/interpreter.ts';

const PNG = Buffer.from('89504e470d0a1a0a0000', 'hex');
const IMAGE_URL = `data:image/png;base64,${PNG.toString('base64')}`;
const PDF = Buffer.from('%PDF-1.7 …');

let fake: FakeUpstream;
let app: Listening;
let client: OpenAI;
let otherTenant: OpenAI;
let now = 0;

async function start(options: RouterOptions = {}): Promise<void> {
  now = 0;
  fake = await startFakeUpstream();
  const files = memoryFiles({ now: () => Date.now() + now });
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'k', retries: 0 });
  const shared = { upstream, store: memoryStore(), files, logger: false as const, ...options };
  const routers = [filesRouter({ files }), responsesRouter(shared), chatCompletionsRouter(shared)];
  app = await listening(express().use('/v1', ...routers));
  const baseURL = `${app.url}/v1`;
  client = new OpenAI({ baseURL, apiKey: 'alice', maxRetries: 0 });
  otherTenant = new OpenAI({ baseURL, apiKey: 'bob', maxRetries: 0 });
}

afterEach(() => Promise.all([app.close(), fake.close()]));

async function uploaded(content: string | Buffer, name: string, options: object = {}): Promise<string> {
  const file = await toFile(Buffer.from(content), name);
  return (await client.files.create({ file, purpose: 'user_data', ...options })).id;
}

/** Asks with these parts; the content of the user's message as the model server received it. */
async function receivedFor(...content: readonly object[]): Promise<unknown> {
  fake.reply(says('Fine.'));
  // The cast: some of them are wrong.
  const input = [{ role: 'user', content }] as OpenAI.Responses.ResponseInput;
  await client.responses.create({ model: 'm', input });
  return userContent();
}

/** The body of the last request that the model server got. */
function lastBody(): ChatBody {
  const [last] = fake.requests.slice(-1).map(chatBody);
  return last ?? { messages: [] };
}

function userContent(): unknown {
  return lastBody().messages.findLast(({ role }) => role === 'user')?.content;
}

const ask = (id: string, type = 'input_file') => [
  { type: 'input_text', text: 'What is it?' },
  { type, file_id: id },
];
const WORDS = { type: 'text', text: 'What is it?' };

describe('an uploaded file in a response', () => {
  beforeEach(() => start());

  it('[X-14] is text for the model if it is text, whatever its server knows of files', async () => {
    for (const [name, text] of [
      ['notes.md', '# Notes'],
      ['table.csv', 'a,b\n1,2'],
      ['page.html', '<p>Hällo</p>'],
      ['plain.txt', 'Plain'],
    ] as const) {
      const content = await receivedFor(...ask(await uploaded(text, name)));
      expect(content).toBe(`What is it?\n[The file '${name}':]\n\n${text}`);
    }
  });

  it('[X-14] is a picture if it is one, whatever its name', async () => {
    const image = { type: 'image_url', image_url: { url: IMAGE_URL } };
    expect(await receivedFor(...ask(await uploaded(PNG, 'x.txt'), 'input_image'))).toEqual([WORDS, image]);
  });

  it.each([
    ['a PDF', PDF, 'report.bin', `data:application/pdf;base64,${PDF.toString('base64')}`],
    ['bytes that claim to be text', Buffer.from([0xff, 0xfe, 0]), 'x.txt', 'data:text/plain;base64,//4A'],
    ['text with a NUL in it', Buffer.from('a\0'), 'x.csv', 'data:text/csv;base64,YQA='],
    ['bytes of no known type', Buffer.from([1, 2]), 'x.bin', 'data:application/octet-stream;base64,AQI='],
  ])('[X-14] is sent as a file if it is %s', async (_, bytes, filename, data) => {
    const content = await receivedFor(...ask(await uploaded(bytes, filename)));
    expect(content).toEqual([WORDS, { type: 'file', file: { filename, file_data: data } }]);
  });

  it('[X-14] is kept by its id, and read again in the next turn', async () => {
    const id = await uploaded('Plain', 'a.txt');
    fake.reply(says('One.'), says('Two.'));
    const input = [{ role: 'user' as const, content: [{ type: 'input_file' as const, file_id: id }] }];
    const first = await client.responses.create({ model: 'm', input });
    const [item] = (await client.responses.inputItems.list(first.id)).data;
    expect(item).toMatchObject({ content: [{ type: 'input_file', file_id: id }] });
    expect(JSON.stringify(item)).not.toContain('Plain');
    await client.responses.create({ model: 'm', input: 'And?', previous_response_id: first.id });
    expect(JSON.stringify(lastBody())).toContain("[The file 'a.txt':]");
  });

  it('[X-14] that is deleted does not end the conversation', async () => {
    const id = await uploaded('Plain', 'a.txt');
    fake.reply(says('One.'), says('Two.'));
    const input = [{ role: 'user' as const, content: [{ type: 'input_file' as const, file_id: id }] }];
    const first = await client.responses.create({ model: 'm', input });
    await client.files.delete(id);
    await client.responses.create({ model: 'm', input: 'And?', previous_response_id: first.id });
    expect(JSON.stringify(lastBody())).toContain('[A file that is not there any more.]');
  });

  it('[X-14] may be in a conversation and in the output of a tool', async () => {
    const id = await uploaded(PNG, 'x.png');
    const { id: conversation } = await client.conversations.create({
      items: [{ type: 'message', role: 'user', content: [{ type: 'input_image', file_id: id, detail: 'auto' }] }],
    });
    fake.reply(says('One.'));
    await client.responses.create({ model: 'm', input: 'And?', conversation });
    expect(JSON.stringify(lastBody())).toContain(IMAGE_URL);
    const call = { type: 'function_call' as const, call_id: 'c', name: 'look', arguments: '{}' };
    const output = {
      type: 'function_call_output' as const,
      call_id: 'c',
      output: [{ type: 'input_image' as const, file_id: id }],
    };
    fake.reply(says('Two.'));
    await client.responses.create({ model: 'm', input: [call, output] });
    expect(JSON.stringify(lastBody())).toContain(IMAGE_URL);
  });

  it('[X-14] is counted among the input tokens', async () => {
    const id = await uploaded('word '.repeat(500), 'a.txt');
    const input = [{ role: 'user' as const, content: [{ type: 'input_file' as const, file_id: id }] }];
    expect((await client.responses.inputTokens.count({ model: 'm', input })).input_tokens).toBeGreaterThan(400);
  });
});

describe('a file that a request may not have', () => {
  const refusal = { status: 400, code: 'file_not_found', param: 'input[0].content[1].file_id' };
  /** The error for it, with the id blotted out. */
  const refused = (who: OpenAI, id: string, type = 'input_file') =>
    who.responses.create({ model: 'm', input: [{ role: 'user', content: ask(id, type) }] as never }).then(
      () => 'answered',
      (error: Error & Record<string, unknown>) => {
        expect(error).toMatchObject(refusal);
        return error.message.replaceAll(id, '<id>');
      },
    );

  beforeEach(() => start());

  it('[X-14] is another tenant’s: as unknown as one that never was', async () => {
    const id = await uploaded('Secret', 'a.txt');
    const unknown = `file-${'0'.repeat(32)}`;
    expect(await refused(otherTenant, id)).toBe(await refused(otherTenant, unknown));
    expect(await refused(otherTenant, id, 'input_image')).toBe(await refused(client, '../../x', 'input_image'));
    expect(fake.requests).toHaveLength(0);
  });

  it('[X-14] has expired', async () => {
    const id = await uploaded('x', 'a.txt', { expires_after: { anchor: 'created_at', seconds: 3600 } });
    now = 3_700_000;
    expect(await refused(client, id)).toContain('No such File object');
  });

  it('[X-14] is no picture, where one is wanted', async () => {
    const asking = receivedFor(...ask(await uploaded('GIF?', 'x.gif'), 'input_image'));
    await expect(asking).rejects.toMatchObject({ status: 400, code: 'invalid_value', param: refusal.param });
  });
});

describe('the limit of files in a request', () => {
  it('[X-14] counts every mention, so that one file cannot be sent a thousand times', async () => {
    await start({ limits: { request: { fileBytes: 1000 } } });
    const id = await uploaded('x'.repeat(500), 'a.txt');
    expect(await receivedFor(...ask(id), ...ask(id))).toContain('x');
    const third = receivedFor(...ask(id), ...ask(id), ...ask(id));
    await expect(third).rejects.toMatchObject({
      status: 413,
      code: 'request_too_large',
      param: 'input[0].content[5].file_id',
    });
  });
});

describe('a history of files that are not there', () => {
  it('[X-14] is not looked through without end', async () => {
    let looked = 0;
    const whole = memoryFiles();
    const files = Object.assign(Object.create(whole), {
      get(key: ResponseKey) {
        looked += 1;
        return whole.get(key);
      },
    });
    await start({ files });
    const ids = Array.from({ length: 2000 }, (_, at) => `file-${at.toString(16).padStart(32, '0')}`);
    const content = ids.map((id) => ({ type: 'input_file' as const, file_id: id }));
    const { id: conversation } = await client.conversations.create({
      items: [{ type: 'message', role: 'user', content }],
    });
    const asking = client.responses.create({ model: 'm', input: 'And?', conversation });
    await expect(asking).rejects.toMatchObject({ status: 413, code: 'request_too_large' });
    expect(looked).toBe(500);
  });
});

describe('an uploaded file in a chat completion', () => {
  beforeEach(() => start());

  const chat = (who: OpenAI, id: string) =>
    who.chat.completions.create({
      model: 'm',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is it?' },
            { type: 'file', file: { file_id: id } },
          ],
        },
      ],
    });

  it('[X-14] is text or a file for the model', async () => {
    fake.reply(says('One.'), says('Two.'));
    await chat(client, await uploaded('a,b', 'a.csv'));
    expect(userContent()).toEqual([WORDS, { type: 'text', text: "[The file 'a.csv':]\n\na,b" }]);
    await chat(client, await uploaded(PDF, 'a.pdf'));
    const data = `data:application/pdf;base64,${PDF.toString('base64')}`;
    expect(userContent()).toEqual([WORDS, { type: 'file', file: { filename: 'a.pdf', file_data: data } }]);
  });

  it('[X-14] of another tenant is unknown', async () => {
    const asking = chat(otherTenant, await uploaded('a,b', 'a.csv'));
    await expect(asking).rejects.toMatchObject({
      status: 400,
      code: 'file_not_found',
      param: 'messages[0].content[1].file.file_id',
    });
  });
});

describe('uploaded files in the container of code', () => {
  const tools = (...ids: readonly string[]) => [
    { type: 'code_interpreter' as const, container: { type: 'auto' as const, file_ids: [...ids] } },
  ];

  beforeEach(() => start({ tools: interpreter().tools }));

  it('[X-14] are read by the code, and named to the model', async () => {
    const [one, two] = [await uploaded('1,2', 'a.csv'), await uploaded('3,4', 'a.csv')];
    fake.reply(runs("print(read('a.csv'), read('a-2.csv'), read('b.md'))"), says('Done.'));
    const part = { type: 'input_file' as const, file_id: await uploaded('# B', 'b.md') };
    const response = await client.responses.create({
      model: 'm',
      include: ['code_interpreter_call.outputs'],
      tools: tools(one, two),
      input: [{ role: 'user', content: [part] }],
    });
    const run = response.output.find(({ type }) => type === 'code_interpreter_call');
    expect(run).toMatchObject({ outputs: [{ type: 'logs', logs: '1,2 3,4 # B' }] });
    const body = JSON.stringify(fake.requests.slice(0, 1).map(chatBody));
    for (const name of ['a.csv', 'a-2.csv', 'b.md'])
      expect(body).toContain(`[The file '${name}' is in the working directory of the code interpreter.]`);
    expect(body).not.toContain('1,2');
  });

  it('[X-14] are refused if they are another tenant’s', async () => {
    const id = await uploaded('1,2', 'a.csv');
    const asking = otherTenant.responses.create({ model: 'm', tools: tools(id), input: 'Sum.' });
    await expect(asking).rejects.toMatchObject({ status: 400, code: 'file_not_found', param: 'tools' });
  });
});

describe('a router without files', () => {
  it('[X-14] refuses their ids, and reports it', async () => {
    await start({ files: undefined });
    const asking = receivedFor(...ask(`file-${'0'.repeat(32)}`));
    await expect(asking).rejects.toMatchObject({ status: 400, code: 'unsupported_parameter' });
  });

  it('[X-14] refuses a value that is not a store', () => {
    expect(() => responsesRouter({ files: {} as never })).toThrow(
      'responsesRouter: files must be an object with put, get',
    );
    return start();
  });
});

describe('the stream of a response', () => {
  it('[X-14] begins only once its files are known', async () => {
    await start();
    fake.reply({ body: textStream('Fine.') });
    const id = await uploaded('Plain', 'a.txt');
    const input = [{ role: 'user' as const, content: [{ type: 'input_file' as const, file_id: id }] }];
    const stream = await client.responses.create({ model: 'm', input, stream: true });
    const types: string[] = [];
    for await (const { type } of stream) types.push(type);
    expect([types[0], types.at(-1)]).toEqual(['response.created', 'response.completed']);
  });
});
