/** The detectors that ask a service, and the one for URLs. */
import { createServer, type RequestListener } from 'node:http';
import fc from 'fast-check';
import { chatCompletionsUpstream, type Guard, type GuardSubject, type GuardVerdict } from '../../../src/index.ts';
import { allowUrls, moderation, presidio } from '../../../src/policies/guards/index.ts';
import { startFakeUpstream, textStream } from '../../../src/testing/index.ts';
import { listening } from '../../support/listening.ts';
import { guardedInPieces, redacted, requestGuards, shownOf, withoutPunctuation } from './support.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

interface Asked {
  readonly path: string | undefined;
  readonly authorization: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A service that answers each body with a value, or with bytes of its own. */
async function service(answer: (body: Asked['body']) => unknown, raw?: RequestListener) {
  const asked: Asked[] = [];
  const listener: RequestListener = async (req, res) => {
    if (raw) return raw(req, res);
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk);
    const body = JSON.parse(String(Buffer.concat(chunks)));
    asked.push({ path: req.url, authorization: req.headers.authorization, body });
    res.setHeader('content-type', 'application/json').end(JSON.stringify(answer(body)));
  };
  const { url, close } = await listening(createServer(listener));
  closers.push(close);
  return { url, asked };
}

function subject(text: string, direction: GuardSubject['direction'] = 'input'): GuardSubject {
  const { signal } = new AbortController();
  return { text, direction, place: 'input', scope: 't', requestId: 'r', request: undefined, signal };
}

function verdictOf(guard: Guard, text: string): Promise<GuardVerdict> {
  return Promise.resolve(guard.inspect(subject(text)));
}

/** A Presidio that knows one name, and counts as Python does. */
function namesIn({ text }: Asked['body']) {
  const characters = [...String(text)];
  return characters.flatMap((_, start) =>
    characters.slice(start, start + 3).join('') === 'Bob'
      ? [{ entity_type: 'PERSON', start, end: start + 3, score: 0.9 }]
      : [],
  );
}

describe('presidio', () => {
  it('[C-29] replaces what the analyzer finds, behind characters of two units too', async () => {
    const { url, asked } = await service(namesIn);
    const guard = presidio({ baseURL: `${url}/base`, apiKey: 'key', entities: ['PERSON'], scoreThreshold: 0.5 });
    const { guards } = requestGuards({ input: [guard] });
    expect(await guards.input('🎉🎉 Bob and Bob.', 'input')).toBe('🎉🎉 [PERSON] and [PERSON].');
    expect(asked).toEqual([
      {
        path: '/base/analyze',
        authorization: 'Bearer key',
        body: { text: '🎉🎉 Bob and Bob.', language: 'en', entities: ['PERSON'], score_threshold: 0.5 },
      },
    ]);
  });

  it('makes one finding of those that overlap', async () => {
    const found = [
      { entity_type: 'URL', start: 4, end: 9, score: 0.5 },
      { entity_type: 'EMAIL_ADDRESS', start: 0, end: 9, score: 1 },
      { entity_type: 'PERSON', start: 8, end: 11, score: 0.3 },
    ];
    const { url } = await service(() => found);
    expect(await verdictOf(presidio({ baseURL: url }), 'bob@x.com is')).toEqual({
      action: 'replace',
      findings: [{ start: 0, end: 11, rule: 'EMAIL_ADDRESS' }],
    });
  });

  it('sees a stream in windows: a name that is torn anywhere is found', async () => {
    const { url } = await service(namesIn);
    const guard = presidio({ baseURL: url, lookahead: 8 });
    const text = `${'word '.repeat(9)}Bob ${'more '.repeat(6)}Bob`;
    for (const size of [1, 2, 3, 5, 11, 100])
      expect(await guardedInPieces(guard, text, [size])).toBe(text.replaceAll('Bob', '[PERSON]'));
  });

  it('reports a finding in two windows once, and tears no character of two units', async () => {
    const text = `${'a '.repeat(30)}Bob ${'b '.repeat(60)}${'🎉'.repeat(200)}`;
    for (const mode of ['redact', 'monitor'] as const) {
      const { url } = await service(namesIn);
      const { guards, reports } = requestGuards({ output: [presidio({ baseURL: url, lookahead: 33, mode })] });
      const track = guards.textTrack('text');
      const shown: string[] = [];
      for (let at = 0; at < text.length; at += 2) shown.push(await track.write(text.slice(at, at + 2)));
      shown.push(await track.end());
      expect(shown.filter((each) => /\p{Surrogate}/u.test(each))).toEqual([]);
      expect(shown.join('')).toBe(mode === 'monitor' ? text : text.replace('Bob', '[PERSON]'));
      expect(reports.map(({ rule, count }) => [rule, count])).toEqual([['PERSON', 1]]);
    }
  });

  it('does not cut a finding of several words, wherever the window ends', async () => {
    const cities: Guard = {
      name: 'cities',
      lookahead: 16,
      async inspect({ text }) {
        const starts = [...text.matchAll(/New York City/g)].map(({ index }) => index);
        return { action: 'replace', findings: starts.map((start) => ({ start, end: start + 13, rule: 'CITY' })) };
      },
    };
    for (let before = 0; before < 40; before += 1) {
      const text = `${'a '.repeat(before)}New York City and ${'b '.repeat(30)}New York City`;
      for (const size of [1, 5, 33])
        expect(await guardedInPieces(cities, text, [size])).toBe(text.replaceAll('New York City', '[CITY]'));
    }
  });

  it.each<[string, unknown]>([
    ['no list', { error: 'no' }],
    ['other entities', [{ label: 'PERSON' }]],
    ['places outside of the text', [{ entity_type: 'PERSON', start: 0, end: 99, score: 1 }]],
  ])('fails if the analyzer answers with %s', async (_, answer) => {
    const { url } = await service(() => answer);
    const { guards, reports } = requestGuards({ input: [presidio({ baseURL: url })] });
    await expect(guards.input('Bob', 'input')).rejects.toMatchObject({ code: 'guard_failed' });
    expect(reports.map(({ rule, action }) => [rule, action])).toEqual([['failure', 'blocked']]);
  });

  it.each<[string, RequestListener]>([
    ['an error', (_, res) => res.writeHead(500).end('Bob')],
    ['another place', (_, res) => res.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
    ['two megabytes', (_, res) => res.end(`["${'x'.repeat(2 ** 21)}"]`)],
    ['nothing', () => {}],
    [
      'half an answer',
      (_, res) => {
        res.writeHead(200, { 'content-length': '9' }).write('[');
        res.destroy();
      },
    ],
  ])('fails if the analyzer answers with %s, and does not repeat the text or the address', async (_, raw) => {
    const { url } = await service(() => [], raw);
    const { guards } = requestGuards({ input: [presidio({ baseURL: url, timeoutMs: 200 })] });
    const error = await guards.input('Bob', 'input').catch((thrown: Error) => thrown);
    expect(error).toMatchObject({ code: 'guard_failed' });
    const { message, cause } = error as Error & { cause: Error };
    expect(`${message} ${cause.message}`).not.toMatch(/Bob|127\.0\.0\.1/);
  });
});

describe('moderation', () => {
  const flagged =
    (categories: Readonly<Record<string, boolean>>, isFlagged = true) =>
    () => ({
      results: [{ flagged: isFlagged, categories, category_scores: {} }],
    });

  it('blocks what an endpoint flags, naming the categories', async () => {
    const { url, asked } = await service(flagged({ violence: true, hate: false }));
    const verdict = await verdictOf(moderation({ baseURL: `${url}/v1`, apiKey: 'k', model: 'm' }), 'text');
    expect(verdict).toEqual({ action: 'block', reason: 'It was flagged as violence.', rule: 'violence' });
    expect(asked).toEqual([
      { path: '/v1/moderations', authorization: 'Bearer k', body: { input: 'text', model: 'm' } },
    ]);
  });

  it('passes what is not flagged, or only for other categories', async () => {
    const { url } = await service(flagged({ violence: false }, false));
    const other = await service(flagged({ violence: true }));
    expect(await verdictOf(moderation({ baseURL: url }), 'text')).toEqual({ action: 'pass' });
    expect(await verdictOf(moderation({ baseURL: other.url, categories: ['hate'] }), 'text')).toEqual({
      action: 'pass',
    });
  });

  it('fails if the endpoint answers in another form', async () => {
    const { url } = await service(() => ({ results: [] }));
    await expect(verdictOf(moderation({ baseURL: url }), 'text')).rejects.toThrow('answered in another form');
  });

  it('asks a guard model, and reads its verdict', async () => {
    const fake = await startFakeUpstream();
    const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL });
    closers.push(async () => {
      await upstream.close?.();
      await fake.close();
    });
    const guard = moderation({ upstream, model: 'guard', instructions: 'Judge.' });
    fake.reply(
      { body: textStream('safe') },
      { body: textStream('\nunsafe\nS1,S9') },
      { body: textStream('Well…') },
      { body: textStream('unsafe\nthe text itself is …') },
    );
    expect(await verdictOf(guard, 'one')).toEqual({ action: 'pass' });
    expect(await verdictOf(guard, 'two')).toEqual({
      action: 'block',
      reason: 'It was flagged as S1, S9.',
      rule: 'S1 S9',
    });
    await expect(verdictOf(guard, 'three')).rejects.toThrow('wrote no verdict');
    expect(await verdictOf(guard, 'four')).toMatchObject({ action: 'block', rule: 'unsafe' });
    expect(fake.requests[0]?.body).toMatchObject({
      model: 'guard',
      messages: [
        { role: 'system', content: 'Judge.' },
        { role: 'user', content: 'one' },
      ],
    });
  });

  it('takes the only model of the guard model server where none is named, and fails where there are several', async () => {
    for (const [models, expected] of [
      [['llama-guard-3'], undefined],
      [['one', 'two'], 'lists 2 models'],
      [[], 'lists 0 models'],
    ] as const) {
      const fake = await startFakeUpstream({ models });
      const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL });
      closers.push(async () => {
        await upstream.close?.();
        await fake.close();
      });
      fake.reply({ body: textStream('safe') });
      const guard = moderation({ upstream });
      if (expected !== undefined) await expect(verdictOf(guard, 'one')).rejects.toThrow(expected);
      else {
        expect([await verdictOf(guard, 'one'), await verdictOf(guard, 'two')]).toEqual([
          { action: 'pass' },
          { action: 'pass' },
        ]);
        const paths = fake.requests.map(({ path, body }) => [
          path.replace(/^.*\/v1/, ''),
          (body as Asked['body'])?.model,
        ]);
        expect(paths).toEqual([
          ['/models', undefined],
          ['/chat/completions', 'llama-guard-3'],
          ['/chat/completions', 'llama-guard-3'],
        ]);
      }
    }
  });

  it.each([
    [{}, 'one of baseURL and upstream must be given'],
    [{ baseURL: 'http://h', upstream: { name: 'x', stream: async function* () {} } }, 'one of baseURL and upstream'],
    [{ upstream: { name: 'x', stream: async function* () {} } }, 'model is required'],
    [{ baseURL: 'ftp://h' }, 'baseURL must be an http or https URL'],
  ])('refuses %j', (options, message) => {
    expect(() => moderation(options)).toThrow(message);
  });
});

describe('allowUrls', () => {
  const guard = allowUrls({ allow: [{ suffix: '.example.com' }, { host: 'a.example' }] });

  it.each([
    [
      'See https://docs.example.com/x?y=1. And https://a.example!',
      'See https://docs.example.com/x?y=1. And https://a.example!',
    ],
    ['![x](https://evil.example/?q=secret)', '![x]([URL])'],
    ['http://docs.example.com file:///etc/passwd ssh://a.example', '[URL] [URL] [URL]'],
    ['https://docs.example.com@evil.example/ https://169.254.169.254/latest', '[URL] [URL]'],
    ['<a href="https://evil.example">x</a> at 12:30 a://', '<a href="[URL]">x</a> at 12:30 [URL]'],
    // As `new URL`, `fetch` and browsers read them.
    ['https:evil.example https:/evil.example https:\\\\evil.example HTTPS:/\\evil.example', '[URL] [URL] [URL] [URL]'],
    ['https\t:\n//evil.example/x https:/docs.example.com', '[URL] https:/docs.example.com'],
    [
      '![x](//evil.example/?q=1) <img src="\\\\evil.example/x"> (//docs.example.com)',
      '![x]([URL]) <img src="[URL]"> (//docs.example.com)',
    ],
    ['//bob@evil.example', '[URL]'],
    [
      'Use https: it is safe. https:\n- one, `http:` "https:", x = 1; // a comment. (//no name) a/b//c.d',
      'Use https: it is safe. https:\n- one, `http:` "https:", x = 1; // a comment. (//no name) a/b//c.d',
    ],
  ])('leaves of %j what is allowed', (text, shown) => {
    expect(redacted(guard, text)).toBe(shown);
  });

  it('finds the same in a text that is cut anywhere', async () => {
    const piece = fc.oneof(
      fc.constantFrom(
        'https://evil.example/x',
        'https://a.example',
        '(//evil.example/x',
        '"\\\\a.b',
        'https:\t',
        '\n',
        '//',
        '://',
        ':/',
        ':',
        'http',
        ' ',
        '.',
        'x'.repeat(33),
        'https',
      ),
      fc.string({ maxLength: 5 }),
    );
    const texts = fc.array(piece, { maxLength: 9 }).map((pieces) => pieces.join(''));
    await fc.assert(
      fc.asyncProperty(texts, fc.array(fc.nat({ max: 9 }), { minLength: 1 }), async (text, sizes) => {
        const shown = [await guardedInPieces(guard, text, sizes), await shownOf(guard, text)];
        const [pieces, whole] = /[[{]/.test(text) ? shown.map(withoutPunctuation) : shown;
        expect(pieces).toBe(whole);
      }),
      { numRuns: 1000 },
    );
  });

  it('blocks arguments of tools', () => {
    expect(guard.inspect(subject('https://evil.example', 'tool-arguments'))).toMatchObject({ action: 'block' });
    expect(guard.inspect(subject('https://a.example', 'tool-arguments'))).toEqual({ action: 'pass' });
  });
});
