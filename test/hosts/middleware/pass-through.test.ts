/** What is passed on to the model server: which paths, which bytes, whose key, and under whose rules. */
import express from 'express';
import { toFile } from 'openai';
import { chatCompletionsUpstream, type ModelAttempt, passThroughRouter, responsesRouter } from '../../../src/index.ts';
import { tokenBudget } from '../../../src/policies/budgets/index.ts';
import { pii } from '../../../src/policies/guards/index.ts';
import { routedUpstream, withFailover } from '../../../src/upstreams/routing/index.ts';
import { closers, EMBEDDING, HOST_KEY, modelServer, post, type Received, serving, start } from './passing.ts';

describe('a path that is passed on', () => {
  it('[E-07] reaches the model server byte for byte, with the host’s key and nothing of the client’s', async () => {
    const model = await modelServer();
    const { url } = await start({ upstream: model.upstream });
    const body = '{ "model": "e",  "input": "H\\u00e9llo", "n": 1.0, "big": 12345678901234567890 }';
    const answer = await post(`${url}/embeddings?x=1`, body, {
      authorization: 'Bearer sk-client',
      cookie: 'session=1',
      'openai-organization': 'org-client',
    });
    expect([answer.status, await answer.text()]).toEqual([200, EMBEDDING.body]);
    const [{ method, url: path, headers, body: sent } = model.received[0] as Received] = model.received;
    expect([method, path, String(sent), headers.authorization, headers.cookie]).toEqual([
      'POST',
      '/v1/embeddings?x=1',
      body,
      `Bearer ${HOST_KEY}`,
      undefined,
    ]);
  });

  it('[E-07] is served to OpenAI’s client: embeddings, moderations, completions, images, speech', async () => {
    const sound = Buffer.from(Array.from({ length: 70_000 }, (_, at) => (at * 7) % 256));
    const model = await modelServer(({ url }) => {
      if (url === '/v1/audio/speech') return { type: 'audio/mpeg', body: sound };
      if (url === '/v1/completions')
        return { type: 'text/event-stream', body: 'data: {"choices":[{"text":"Hi"}]}\n\ndata: [DONE]\n\n' };
      if (url === '/v1/moderations') return { body: '{"results":[{"flagged":false}]}' };
      return url === '/v1/images/generations' ? { body: '{"data":[{"b64_json":"AAAA"}]}' } : EMBEDDING;
    });
    const { client } = await start({ upstream: model.upstream });
    const { data } = await client.embeddings.create({ model: 'e', input: ['a', 'b'], encoding_format: 'float' });
    const { results } = await client.moderations.create({ input: 'x' });
    const images = await client.images.generate({ prompt: 'A cat.' });
    const speech = await client.audio.speech.create({ model: 't', voice: 'alloy', input: 'Hi' });
    const texts: string[] = [];
    for await (const { choices } of await client.completions.create({ model: 'm', prompt: 'x', stream: true }))
      texts.push(String(choices[0]?.text));
    expect([data[0]?.embedding, results[0]?.flagged, images.data?.[0]?.b64_json, texts]).toEqual([
      [0.5, 1],
      false,
      'AAAA',
      ['Hi'],
    ]);
    expect(Buffer.from(await speech.arrayBuffer()).equals(sound)).toBe(true);
  });

  it('[E-07] streams a form up and the answer down, without waiting for either’s end', async () => {
    let begun: (value: string) => void = () => {};
    const first = new Promise<string>((resolve) => {
      begun = resolve;
    });
    const server = await serving((req, res) => {
      req.once('data', (piece) => begun(String(piece)));
      res.writeHead(200, { 'content-type': 'text/plain' }).write('early');
      req.on('end', () => res.end(' late')).resume();
    });
    const upstream = chatCompletionsUpstream({ baseURL: server.url, retries: 0 });
    closers.unshift(() => upstream.close());
    const { url } = await start({ upstream });
    let end: () => void = () => {};
    const open = new Promise<void>((resolve) => {
      end = resolve;
    });
    async function* body() {
      yield Buffer.from(
        `--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper\r\n--b\r\n${' '.repeat(300)}`,
      );
      await open;
      yield Buffer.from('--b--\r\n');
    }
    const answering = fetch(`${url}/audio/transcriptions`, {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
      body: body() as never,
      duplex: 'half',
    } as RequestInit);
    expect(await first).toContain('whisper');
    end();
    const answer = await answering;
    expect(await answer.text()).toBe('early late');
  });

  it('[E-07] carries a file as OpenAI’s client sends it', async () => {
    const model = await modelServer(() => ({ body: '{"text":"Hello."}' }));
    const { client } = await start({ upstream: model.upstream });
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * 13) % 256));
    const { text } = await client.audio.transcriptions.create({ model: 'w', file: await toFile(bytes, 'a.mp3') });
    expect([text, model.received[0]?.body.includes(bytes)]).toEqual(['Hello.', true]);
  });

  it('[E-07] shows the model server’s error without the host’s key, its limits or its cookies', async () => {
    const model = await modelServer((_, index) =>
      index === 0
        ? {
            status: 429,
            headers: { 'retry-after': '7', 'set-cookie': 'a=b', 'x-ratelimit-limit-requests': '60' },
            body: `{"error":{"message":"Slow down, ${HOST_KEY}.","type":"rate_limit_error","code":"rate_limit_exceeded"}}`,
          }
        : { ...EMBEDDING, headers: { 'set-cookie': 'a=b', 'openai-organization': 'org-host' } },
    );
    const { url } = await start({ upstream: model.upstream });
    const refused = await post(`${url}/embeddings`, '{"model":"e","input":"x"}');
    const text = await refused.text();
    expect([refused.status, refused.headers.get('retry-after'), refused.headers.get('set-cookie')]).toEqual([
      429,
      '7',
      null,
    ]);
    expect(text).toContain('rate_limit_exceeded');
    expect(text).not.toContain(HOST_KEY);
    const answer = await post(`${url}/embeddings`, '{"model":"e","input":"x"}');
    expect([answer.headers.get('set-cookie'), answer.headers.get('openai-organization')]).toEqual([null, null]);
  });

  it('[E-07] is cut off where the model server breaks off, not ended', async () => {
    const server = await serving((req, res) => {
      req.resume();
      res.writeHead(200, { 'content-type': 'audio/mpeg' });
      res.write('abc', () => res.destroy());
    });
    const upstream = chatCompletionsUpstream({ baseURL: server.url, retries: 0 });
    closers.unshift(() => upstream.close());
    const { url } = await start({ upstream });
    const answer = await post(`${url}/audio/speech`, '{"model":"t","input":"x","voice":"v"}');
    await expect(answer.arrayBuffer()).rejects.toThrow();
  });

  it('[E-07] ends at the model server when the client leaves', async () => {
    let left: () => void = () => {};
    const gone = new Promise<void>((resolve) => {
      left = resolve;
    });
    const server = await serving((req, res) => {
      req.resume();
      res.writeHead(200, { 'content-type': 'audio/mpeg' }).write('abc');
      res.once('close', left);
    });
    const upstream = chatCompletionsUpstream({ baseURL: server.url, retries: 0 });
    closers.unshift(() => upstream.close());
    const { url } = await start({ upstream });
    const stop = new AbortController();
    const answer = await fetch(`${url}/audio/speech`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
      signal: stop.signal,
    });
    await answer.body?.getReader().read();
    stop.abort();
    await gone;
    expect(answer.status).toBe(200);
  });
});

describe('other paths', () => {
  it.each([
    ['POST', '/files'],
    ['GET', '/files'],
    ['POST', '/responses'],
    ['GET', '/batches'],
    ['GET', '/embeddings'],
    ['POST', '/embeddings/'],
    ['POST', '/embeddings/../files'],
    ['POST', '/embeddings/%2e%2e/files'],
    ['POST', '/embeddings%2f..%2ffiles'],
    ['POST', '//embeddings'],
    ['POST', '/fine_tuning/jobs'],
    ['POST', '/EMBEDDINGS'],
  ])('[E-07] stay the host’s: %s %s', async (method, path) => {
    const model = await modelServer();
    const { url } = await start({ upstream: model.upstream });
    const { port } = new URL(url);
    // By hand: `fetch` would resolve the dots.
    const { request } = await import('node:http');
    const status = await new Promise((resolve, reject) => {
      request({ port, method, path: `/v1${path}` }, (res) => resolve(res.resume().statusCode))
        .on('error', reject)
        .end();
    });
    expect([status, model.received]).toEqual([404, []]);
  });

  it('[E-07] are passed on where the host names them', async () => {
    const model = await modelServer();
    const { url } = await start({ upstream: model.upstream, paths: ['GET /batches', '/batches/*'] });
    const statuses = await Promise.all(
      ['/batches?limit=2', '/batches/batch_1', '/batches/..', '/batches-of-others'].map((path) =>
        fetch(`${url}${path}`).then(({ status }) => status),
      ),
    );
    expect([statuses, model.received.map(({ url: path }) => path).sort()]).toEqual([
      [200, 200, 404, 404],
      ['/v1/batches/batch_1', '/v1/batches?limit=2'],
    ]);
  });

  it('[E-07] are refused as options that cannot be', async () => {
    const model = await modelServer();
    const create = (options: object) => () => passThroughRouter({ upstream: model.upstream, ...options });
    expect(create({ paths: ['embeddings'] })).toThrow(/paths must be a list of paths/);
    expect(create({ paths: ['/a/../b'] })).toThrow(/paths must be a list of paths/);
    expect(create({ anything: 1 })).toThrow(/unknown option 'anything'|anything/);
    expect(create({ upstream: { name: 'own', stream: () => {} } })).toThrow(/must pass requests on, got 'own'/);
  });

  it('[E-07] stand behind the routers of this package', async () => {
    const model = await modelServer();
    const options = { upstream: model.upstream, logger: false as const };
    const app = express().use('/v1', responsesRouter(options), passThroughRouter(options));
    const { url } = await serving(app);
    const answer = await post(`${url}/v1/embeddings`, '{"model":"e","input":"x"}');
    expect(answer.status).toBe(200);
  });
});

describe('the rules of the host', () => {
  it('[E-07] guards see the texts of JSON, and refuse what they cannot read', async () => {
    const model = await modelServer();
    const { url, client } = await start({ upstream: model.upstream, guards: { input: [pii()] } });
    await client.embeddings.create({ model: 'e', input: ['Write to bob@example.com.', 'x'], encoding_format: 'float' });
    await post(`${url}/rerank`, '{"model":"r","query":"bob@example.com","documents":["al@example.com"]}');
    await post(`${url}/completions`, '{"model":"r","prompt":"bob@example.com"}');
    const file = await toFile(Buffer.from('x'), 'a.mp3');
    const refused = await client.audio.transcriptions.create({ model: 'w', file }).catch(({ status }) => status);
    const sent = model.received.map(({ body }) => String(body)).join('\n');
    expect(sent).not.toContain('example.com');
    expect([model.received.length, refused]).toEqual([3, 415]);
  });

  it('[E-07] guards let pass unread what the host names, and see answers', async () => {
    const model = await modelServer(() => ({ body: '{"text":"Write to bob@example.com."}' }));
    const unguardedPaths = ['/v1/audio/translations'];
    const { url, client } = await start({
      upstream: model.upstream,
      guards: { input: [pii()], output: [pii()] },
      unguardedPaths,
    });
    const file = await toFile(Buffer.from('x'), 'a.mp3');
    const unread = await client.audio.translations.create({ model: 'w', file });
    const read = await post(`${url}/moderations`, '{"input":"x"}');
    expect(unread.text).toContain('bob@example.com');
    expect(await read.text()).toBe('{"text":"Write to [EMAIL]."}');
  });

  it('[E-07] a budget is spent by the tokens of the answer, and refuses when it is spent', async () => {
    const model = await modelServer();
    const budget = tokenBudget({ limits: { tokens: { points: 10, duration: 3600 } } });
    const { url } = await start({ upstream: model.upstream, budget });
    const statuses: number[] = [];
    for (let count = 0; count < 3; count += 1) {
      const answer = await post(`${url}/embeddings`, '{"model":"e","input":"x"}', { authorization: 'Bearer a' });
      await answer.text();
      statuses.push(answer.status);
    }
    const other = await post(`${url}/embeddings`, '{"model":"e","input":"x"}', { authorization: 'Bearer b' });
    expect([statuses, other.status, model.received.length]).toEqual([[200, 200, 429], 200, 3]);
    expect(String(model.received[0]?.body)).toBe('{"model":"e","input":"x"}');
  });

  it('[E-07] limits hold for JSON', async () => {
    const model = await modelServer();
    const { url } = await start({ upstream: model.upstream, limits: { request: { bodyBytes: 100 } } });
    const answer = await post(`${url}/embeddings`, JSON.stringify({ input: 'x'.repeat(200) }));
    expect([answer.status, model.received]).toEqual([413, []]);
  });

  it('[E-07] another server answers where one fails, under its own name for the model', async () => {
    const broken = await modelServer(() => ({ status: 503, body: '{"error":{"message":"Down."}}' }));
    const whole = await modelServer();
    const upstream = withFailover([
      { upstream: broken.upstream, name: 'a' },
      { upstream: whole.upstream, name: 'b', model: 'e-at-b' },
    ]);
    const attempts: ModelAttempt[] = [];
    const { url } = await start({ upstream, hooks: { onAttempt: (attempt) => void attempts.push(attempt as never) } });
    const answer = await post(`${url}/embeddings`, '{"model":"e","input":"x"}');
    expect([answer.status, String(whole.received[0]?.body)]).toEqual([200, '{"model":"e-at-b","input":"x"}']);
    expect([broken.received.length, attempts.length]).toEqual([1, 2]);
  });

  it('[E-07] the server of the model answers, which a form names at its beginning', async () => {
    const [one, two] = [await modelServer(), await modelServer(() => ({ body: '{"text":"x"}' }))];
    const upstream = routedUpstream({ routes: { e: one.upstream, w: two.upstream } });
    const { url, client } = await start({ upstream });
    await client.embeddings.create({ model: 'e', input: 'x', encoding_format: 'float' });
    const form = new FormData();
    form.append('model', 'w');
    form.append('file', new Blob([Buffer.alloc(100_000)]), 'a.mp3');
    const answer = await fetch(`${url}/audio/transcriptions`, { method: 'POST', body: form });
    expect([answer.status, one.received.length, two.received.length]).toEqual([200, 1, 1]);
  });
});
