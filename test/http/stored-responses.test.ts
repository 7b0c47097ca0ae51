/** Responses that are kept, over real HTTP: continued, retrieved, deleted, and their input listed. */

import { memoryStore, type ResponseStore } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { chatChunk, chatStream, textStream } from '../../src/testing/index.ts';
import { type RequestApp, requestAppPerTest } from '../support/request-app.ts';
import { callDelta, finished, PARIS, WEATHER } from './response-values.ts';

let app: RequestApp;
const restart = requestAppPerTest((started) => {
  app = started;
});

const NOT_FOUND = {
  message: "Previous response with id 'resp_unknown' not found.",
  type: 'invalid_request_error',
  param: 'previous_response_id',
  code: 'previous_response_not_found',
};

describe('previous_response_id', () => {
  it('[S-12] [A-11] [B-31] [D-15] puts all earlier input and output before the input, oldest first', async () => {
    app.upstream.reply({ body: textStream('Two.') }, { body: textStream('Three.') });
    const first = await app.create({ input: 'One?' });
    const second = await app.create({ input: 'And?', previous_response_id: first.body.id });
    await app.create({ input: 'More?', previous_response_id: second.body.id });
    expect([second.body.previous_response_id, app.requested().messages]).toEqual([
      first.body.id,
      [
        { role: 'user', content: 'One?' },
        { role: 'assistant', content: 'Two.' },
        { role: 'user', content: 'And?' },
        { role: 'assistant', content: 'Three.' },
        { role: 'user', content: 'More?' },
      ],
    ]);
  });

  it('[B-31] reads the chain of many turns with one query', async () => {
    const memory = memoryStore();
    const requested: string[] = [];
    const store: ResponseStore = {
      name: 'counting',
      get(key) {
        requested.push('get');
        return memory.get(key);
      },
      put: (response) => memory.put(response),
      delete: (key) => memory.delete(key),
      chain(key, limit) {
        requested.push('chain');
        return memory.chain(key, limit);
      },
    };
    await restart({ store });
    let previous: string | null = null;
    for (let turn = 0; turn < 5; turn += 1) {
      const { body } = await app.create({ input: `Turn ${turn}.`, previous_response_id: previous });
      previous = body.id;
    }
    expect([requested, app.requested().messages.length]).toEqual([['chain', 'chain', 'chain', 'chain'], 9]);
  });

  it('[M-23] [A-22] [S-12] does not inherit instructions; new ones take the place of the old', async () => {
    const { body: first } = await app.create({ input: 'One?', instructions: 'Old.' });
    const history = [
      { role: 'user', content: 'One?' },
      { role: 'assistant', content: 'Hello!' },
      { role: 'user', content: 'Two?' },
    ];
    const { body: without } = await app.create({ input: 'Two?', previous_response_id: first.id });
    const askedWithout = app.requested().messages;
    const { body: anew } = await app.create({ input: 'Two?', previous_response_id: first.id, instructions: 'New.' });
    expect([without.instructions, askedWithout, anew.instructions, app.requested().messages]).toEqual([
      null,
      history,
      'New.',
      [{ role: 'system', content: 'New.' }, ...history],
    ]);
  });

  it('[S-12] [B-31] inherits tools and tool_choice where they are omitted, and not where tools are given', async () => {
    const { body: first } = await app.create({ input: 'One?', tools: [WEATHER], tool_choice: 'required' });
    const { body: second } = await app.create({ input: 'Two?', previous_response_id: first.id });
    const { tools, tool_choice: choice } = app.requested();
    const { body: third } = await app.create({ input: 'Two?', previous_response_id: first.id, tools: [] });
    const { type, ...definition } = WEATHER;
    expect([
      second.tools,
      second.tool_choice,
      tools,
      choice,
      third.tools,
      third.tool_choice,
      app.requested().tools,
    ]).toEqual([[WEATHER], 'required', [{ type, function: definition }], 'required', [], 'auto', undefined]);
  });

  it('[M-17] [B-30] [A-21] [S-12] answers an unknown id with 400 before the model is asked', async () => {
    const { status, body } = await app.create({ input: 'Hi.', previous_response_id: 'resp_unknown', stream: true });
    expect([status, body, app.upstream.requests.length]).toEqual([400, { error: NOT_FOUND }, 0]);
  });

  it('[S-12] an empty id is that of no response', async () => {
    const { status, body } = await app.create({ input: 'Hi.', previous_response_id: '' });
    expect([status, body.previous_response_id]).toEqual([200, null]);
    const next = await app.create({ input: 'And?', previous_response_id: body.id });
    expect([next.status, next.body.previous_response_id]).toEqual([200, body.id]);
  });

  it('[B-28] keeps completed and incomplete responses, and no failed one', async () => {
    const written = chatChunk({ content: 'Half' });
    app.upstream.reply(
      { body: textStream('Whole') },
      { body: finished('length', { content: 'Cut' }) },
      { body: written, cutAfterBytes: written.length },
    );
    const kept = [];
    for (const input of ['One?', 'Two?', 'Three?']) {
      const { body } = await app.create({ input });
      const { status, body: found } = await app.get(`/responses/${body.id}`);
      kept.push([body.status, status, status === 200 && found]);
      if (status === 200) expect(found).toEqual(body);
    }
    expect(kept.map(([ended, status]) => [ended, status])).toEqual([
      ['completed', 200],
      ['incomplete', 200],
      ['failed', 404],
    ]);
  });

  it('[B-29] [S-12] neither retrieves nor continues a response with store: false', async () => {
    const { body } = await app.create({ input: 'Hi.', store: false });
    const found = await app.get(`/responses/${body.id}`);
    const continued = await app.create({ input: 'Hi.', previous_response_id: body.id });
    expect([body.store, found.status, continued.status]).toEqual([false, 404, 400]);
  });
});

describe('GET and DELETE /responses/{id}', () => {
  it('[S-13] retrieves the response as it was answered', async () => {
    app.upstream.reply({ body: chatStream({ reasoning: 'Hm' }, { tool_calls: [{ index: 0, ...callDelta(PARIS) }] }) });
    const { body } = await app.create({ input: 'Hi.', tools: [WEATHER], metadata: { a: 'b' } });
    const found = await app.get(`/responses/${body.id}`);
    expect([found.status, found.body]).toEqual([200, body]);
  });

  it('[S-13] deletes once, and then the response is gone from every path', async () => {
    const { body } = await app.create({ input: 'Hi.' });
    const path = `/responses/${body.id}`;
    const answers = [
      await app.remove(path),
      await app.remove(path),
      await app.get(path),
      await app.get(`${path}/input_items`),
    ];
    const gone = {
      error: {
        message: `Response with id '${body.id}' not found.`,
        type: 'invalid_request_error',
        param: 'response_id',
        code: 'response_not_found',
      },
    };
    const { status: continued } = await app.create({ input: 'Hi.', previous_response_id: body.id });
    expect([answers.map((answer) => [answer.status, answer.body]), continued]).toEqual([
      [
        [200, { id: body.id, object: 'response', deleted: true }],
        [404, gone],
        [404, gone],
        [404, gone],
      ],
      400,
    ]);
  });
});

describe('GET /responses/{id}/input_items', () => {
  const INPUT = ['a', 'b', 'c', 'd'].map((id) => ({ id: `msg_${id}`, role: 'user', content: id.toUpperCase() }));

  async function page(query: string): Promise<unknown> {
    const { body } = await app.create({ input: INPUT });
    const { status, body: list } = await app.get(`/responses/${body.id}/input_items${query}`);
    if (status !== 200) return [status, list];
    const { data, ...rest } = list;
    return { ids: (data as readonly JsonObject[]).map(({ id }) => id), ...rest };
  }

  it('[F-30] fills in the detail of images, as OpenAI does', async () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,AA==' };
    const content = [image, { ...image, detail: 'high' }, { type: 'input_text', text: 'Hi.' }];
    const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
    const { body } = await app.create({
      input: [{ role: 'user', content }, call, { type: 'function_call_output', call_id: 'c', output: [image] }],
    });
    const { body: list } = await app.get(`/responses/${body.id}/input_items?order=asc`);
    const [message, , output] = list.data as readonly JsonObject[];
    expect([message?.content, output?.output]).toEqual([
      [
        { ...image, detail: 'auto' },
        { ...image, detail: 'high' },
        { type: 'input_text', text: 'Hi.' },
      ],
      [{ ...image, detail: 'auto' }],
    ]);
  });

  it('[S-13] lists the items as they are kept: each with type, id, status and parts', async () => {
    const call_output = { type: 'function_call_output', call_id: 'call_paris', output: 'Sunny.' };
    const { type, function: _, ...rest } = { ...callDelta(PARIS), type: 'function_call' } as JsonObject;
    const sent = [
      { role: 'user', content: 'Hi.' },
      { type, ...rest, call_id: 'call_paris', name: 'get_weather', arguments: '{}' },
      call_output,
    ];
    const { body } = await app.create({ input: sent });
    const { body: list } = await app.get(`/responses/${body.id}/input_items?order=asc`);
    const seed = body.id.replace('resp_', '');
    expect(list).toEqual({
      object: 'list',
      data: [
        {
          id: `msg_${seed}i0000`,
          type: 'message',
          role: 'user',
          status: 'completed',
          content: [{ type: 'input_text', text: 'Hi.' }],
        },
        { id: 'call_paris', type: 'function_call', call_id: 'call_paris', name: 'get_weather', arguments: '{}' },
        { id: `fco_${seed}i0002`, status: 'completed', ...call_output },
      ],
      first_id: `msg_${seed}i0000`,
      last_id: `fco_${seed}i0002`,
      has_more: false,
    });
  });

  it.each([
    ['', ['msg_d', 'msg_c', 'msg_b', 'msg_a'], false],
    ['?order=asc', ['msg_a', 'msg_b', 'msg_c', 'msg_d'], false],
    ['?limit=2', ['msg_d', 'msg_c'], true],
    ['?limit=2&after=msg_c', ['msg_b', 'msg_a'], false],
    ['?order=asc&limit=1&after=msg_b', ['msg_c'], true],
    ['?order=asc&before=msg_c', ['msg_a', 'msg_b'], false],
    ['?order=asc&after=msg_a&before=msg_d', ['msg_b', 'msg_c'], false],
    ['?limit=100', ['msg_d', 'msg_c', 'msg_b', 'msg_a'], false],
  ])('[S-13] pages with %p', async (query, ids, more) => {
    const [first, last] = [ids[0], ids.at(-1)];
    expect(await page(query)).toEqual({ ids, object: 'list', first_id: first, last_id: last, has_more: more });
  });

  it('[S-13] pages 20 at a time by default', async () => {
    const input = Array.from({ length: 25 }, (_, index) => ({ role: 'user', content: String(index) }));
    const { body } = await app.create({ input });
    const { body: list } = await app.get(`/responses/${body.id}/input_items`);
    expect([(list.data as readonly unknown[]).length, list.has_more]).toEqual([20, true]);
  });

  it.each([
    ['?limit=0', 400, 'limit'],
    ['?limit=101', 400, 'limit'],
    ['?limit=two', 400, 'limit'],
    ['?order=up', 400, 'order'],
    ['?after=msg_z', 404, 'after'],
    ['?before=msg_z', 404, 'before'],
  ])('[S-13] refuses %p, naming the parameter', async (query, status, param) => {
    expect(await page(query)).toEqual([status, { error: expect.objectContaining({ param }) }]);
  });
});
