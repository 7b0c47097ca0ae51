/** The jobs of the soak's clients: each is complete in itself, and throws if an answer is wrong. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { COMPLETED, expect, expectEnd, stream, upload } from './answers.mjs';

const MESSAGE = [{ role: 'user', content: 'Hi' }];

const idIn = (text) => /"id":"(resp_\w+)"/.exec(text)?.[1];

/** By name, for a mount; `any` is every mount that stores responses. */
export const JOBS = {
  'stream a response': ({ ask, base }) =>
    ask(`${base}/responses`, stream('burst:200')).then((got) => expectEnd(got, COMPLETED)),
  'JSON response': async ({ ask, base }) =>
    JSON.parse(expect(await ask(`${base}/responses`, { model: 'json:50', input: 'Hi' }))),
  'stream chat': async ({ ask, base }) =>
    expectEnd(await ask(`${base}/chat/completions`, { model: 'burst:100', stream: true, messages: MESSAGE }), '[DONE]'),
  'stream messages': async ({ ask, base }) =>
    expectEnd(
      await ask(`${base}/messages`, { model: 'burst:100', max_tokens: 500, stream: true, messages: MESSAGE }),
      'message_stop',
    ),
  'tools of the server': ({ ask, tools }) =>
    ask(`${tools}/responses`, stream('tool:64')).then((got) => expectEnd(got, COMPLETED)),
  'paced stream': ({ ask, base }) =>
    ask(`${base}/responses`, stream('paced:30:5')).then((got) => expectEnd(got, COMPLETED)),
  async 'slow reader'({ ask, base }) {
    expectEnd(await ask(`${base}/responses`, stream('burst:500'), { slowMs: 3 }), COMPLETED);
  },
  'leaves when it has asked': ({ ask, base }) => ask(`${base}/responses`, stream('paced:50:20'), { leave: 'asked' }),
  'leaves at the headers': ({ ask, base }) => ask(`${base}/responses`, stream('paced:50:20'), { leave: 'headers' }),
  'leaves in the middle': ({ ask, base }) => ask(`${base}/responses`, stream('paced:50:5'), { leave: 4000 }),
  'leaves while a tool runs': ({ ask, tools }) => ask(`${tools}/responses`, stream('tool:64'), { leave: 1500 }),
  async conversation({ ask, base }) {
    const { id } = JSON.parse(expect(await ask(`${base}/conversations`, { items: MESSAGE })));
    for (const _ of [1, 2, 3])
      expectEnd(await ask(`${base}/responses`, stream('burst:20', { conversation: id })), COMPLETED);
    expect(await ask(`${base}/conversations/${id}/items?limit=5`, undefined, { method: 'GET' }));
    expect(await ask(`${base}/conversations/${id}`, undefined, { method: 'DELETE' }));
  },
  async chain({ ask, base }) {
    let previous;
    for (const _ of [1, 2, 3]) {
      const body = { model: 'json:5', input: 'Hi', ...(previous && { previous_response_id: previous }) };
      previous = JSON.parse(expect(await ask(`${base}/responses`, body))).id;
    }
    expect(await ask(`${base}/responses/${previous}`, undefined, { method: 'DELETE' }));
  },
  async 'background, resumed and polled'({ ask, base }) {
    const { text } = await ask(`${base}/responses`, stream('paced:30:10', { background: true }), { leave: 3000 });
    const id = idIn(text);
    const path = `${base}/responses/${id}`;
    expectEnd(await ask(`${path}?stream=true&starting_after=1`, undefined, { method: 'GET' }), COMPLETED);
    const { status } = JSON.parse(expect(await ask(path, undefined, { method: 'GET' })));
    if (status !== 'completed') throw new Error(`It is ${status}.`);
    expect(await ask(path, undefined, { method: 'DELETE' }));
  },
  async 'background, cancelled'({ ask, base }) {
    const { id } = JSON.parse(
      expect(await ask(`${base}/responses`, { model: 'paced:200:20', input: 'Hi', background: true })),
    );
    await sleep(20);
    expect(await ask(`${base}/responses/${id}/cancel`, {}));
  },
  async file({ ask }) {
    const id = await upload(ask, '/memory/v1', { purpose: 'user_data', text: 'Hello.'.repeat(500) });
    expect(await ask(`/memory/v1/files/${id}/content`, undefined, { method: 'GET' }));
    expect(await ask(`/memory/v1/files/${id}`, undefined, { method: 'DELETE' }));
  },
  async inspector({ ask }) {
    expect(await ask('/inspect/api/responses?limit=20', undefined, { method: 'GET' }));
    expect(await ask('/inspect/api/upstreams', undefined, { method: 'GET' }));
  },
  async 'refused request'({ ask, base }) {
    expect(await ask(`${base}/responses`, { model: 7, input: {} }), 400);
    expect(await ask(`${base}/responses/resp_${'0'.repeat(32)}`, undefined, { method: 'GET' }), 404);
  },
  async WebSocket({ port, counted }) {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/memory/v1/responses`);
    const closed = once(socket, 'close');
    await once(socket, 'open');
    let left = 3;
    const create = () => socket.send(JSON.stringify({ type: 'response.create', model: 'burst:50', input: 'Hi' }));
    socket.on('message', (data) => {
      counted.events += 1;
      if (!String(data).startsWith('{"type":"response.completed"')) return;
      left -= 1;
      if (left > 0) create();
      else socket.close();
    });
    counted.requests += 3;
    create();
    await closed;
    if (left > 0) throw new Error('The connection was closed early.');
  },
  async 'WebSocket that breaks'({ port, counted }) {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/memory/v1/responses`).on('error', () => {});
    await once(socket, 'open');
    socket.send(JSON.stringify({ type: 'response.create', model: 'paced:50:10', input: 'Hi' }));
    counted.requests += 1;
    await once(socket, 'message');
    socket.terminate();
  },
};
