/** The search engines, against servers of this test whose answers are written from the documentation of each API. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import {
  brave,
  mcpSearch,
  type SearchEngine,
  type SearchQuery,
  searxng,
  tavily,
  webSearch,
} from 'express-open-responses/web-search';
import type { ToolProvider, ToolResult } from '../../../src/index.ts';
import { startSite } from '../egress/site.ts';

const QUERY: SearchQuery = {
  query: 'open responses',
  maxResults: 5,
  allowedDomains: [],
  blockedDomains: [],
  userLocation: undefined,
  signal: new AbortController().signal,
  about: { scope: 's', requestId: 'r', request: undefined },
};
const KEY = 'tvly-secret-key';

interface Asked {
  readonly method: string | undefined;
  readonly path: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** What the engine found at a server that answers so, and what it asked. */
async function searched(
  engineAt: (baseURL: string) => SearchEngine,
  answer: unknown,
  query: Partial<SearchQuery> = {},
) {
  const asked: Asked[] = [];
  const site = await startSite(async (req, res) => {
    const url = new URL(String(req.url), 'http://x');
    const parameters = Object.fromEntries(url.searchParams);
    asked.push({ method: req.method, path: url.pathname, parameters, headers: req.headers, body: await textOf(req) });
    if (typeof answer === 'function') answer(req, res);
    else res.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
  });
  try {
    const engine = engineAt(`http://127.0.0.1:${site.port}`);
    const found = await engine.search({ ...QUERY, ...query }).catch((error: Error) => error.message);
    return { found, asked: asked[0] };
  } finally {
    await site.close();
  }
}

describe('searxng', () => {
  // From docs.searxng.org/dev/search_api: JSON has to be enabled, and `results` holds `url`, `title` and `content`.
  const ANSWER = {
    query: 'open responses',
    number_of_results: 0,
    results: [
      { url: 'https://a.example/', title: 'A', content: 'About A.', engine: 'x', score: 1, category: 'general' },
      { url: 'https://b.example/', title: 'B', content: null },
    ],
    answers: [],
    corrections: [],
    infoboxes: [],
    suggestions: [],
    unresponsive_engines: [],
  };

  it('[B-41] is asked for JSON, and answers with its results', async () => {
    const { found, asked } = await searched(
      (baseURL) => searxng({ baseURL: `${baseURL}/search-here/`, language: 'de', categories: ['general', 'news'] }),
      ANSWER,
      { allowedDomains: ['a.example', 'b.example'] },
    );
    expect([asked?.method, asked?.path, asked?.parameters]).toEqual([
      'GET',
      '/search-here/search',
      {
        q: 'open responses site:a.example OR site:b.example',
        format: 'json',
        language: 'de',
        categories: 'general,news',
      },
    ]);
    expect(found).toEqual([
      { url: 'https://a.example/', title: 'A', text: 'About A.' },
      { url: 'https://b.example/', title: 'B', text: '' },
    ]);
  });
});

describe('brave', () => {
  // From api-dashboard.search.brave.com: `web.results` holds `url`, `title`, `description` and `extra_snippets`.
  const ANSWER = {
    type: 'search',
    query: { original: 'open responses', more_results_available: true },
    web: {
      type: 'search',
      results: [
        {
          title: '<strong>A</strong>',
          url: 'https://a.example/',
          description: 'About <strong>A</strong>.',
          extra_snippets: ['More.'],
        },
        { title: 'B', url: 'https://b.example/', description: 'B' },
      ],
    },
  };

  it('[B-41] is asked with its key, the domains and the place, and answers without marks', async () => {
    const { found, asked } = await searched((baseURL) => brave({ apiKey: KEY, baseURL }), ANSWER, {
      maxResults: 50,
      allowedDomains: ['a.example'],
      blockedDomains: ['c.example'],
      userLocation: { city: 'Berlin', country: 'de', region: 'Köln', timezone: 'Europe/Berlin' },
    });
    expect([asked?.method, asked?.path, asked?.parameters]).toEqual([
      'GET',
      '/web/search',
      { q: 'open responses site:a.example -site:c.example', count: '20', country: 'DE' },
    ]);
    expect(asked?.headers).toMatchObject({
      'x-subscription-token': KEY,
      'x-loc-city': 'Berlin',
      'x-loc-timezone': 'Europe/Berlin',
    });
    expect(asked?.headers).not.toHaveProperty('x-loc-state-name');
    expect(found).toEqual([
      { url: 'https://a.example/', title: 'A', text: 'About A.\nMore.' },
      { url: 'https://b.example/', title: 'B', text: 'B' },
    ]);
  });

  it('[B-41] is not asked more than the API accepts', async () => {
    const { asked } = await searched((baseURL) => brave({ apiKey: KEY, baseURL }), ANSWER, {
      query: 'w'.repeat(1000),
      allowedDomains: ['a.example'],
    });
    expect(asked?.parameters.q).toBe('w'.repeat(400));
  });

  it.each([{}, { web: null }, { web: { results: 'none' } }])('[B-41] may find nothing: %j', async (answer) => {
    expect((await searched((baseURL) => brave({ apiKey: KEY, baseURL }), answer)).found).toEqual([]);
  });
});

describe('tavily', () => {
  // From docs.tavily.com: a POST with a bearer token; `results` holds `url`, `title`, `content` and `score`.
  const ANSWER = {
    query: 'open responses',
    answer: null,
    images: [],
    results: [{ title: 'A', url: 'https://a.example/', content: 'About A.', score: 0.9, raw_content: null }],
    response_time: '1.67',
    request_id: 'x',
  };

  it('[B-41] is asked with its key and the domains', async () => {
    const { found, asked } = await searched((baseURL) => tavily({ apiKey: KEY, baseURL, depth: 'advanced' }), ANSWER, {
      allowedDomains: ['a.example'],
      blockedDomains: ['c.example'],
    });
    expect([asked?.method, asked?.path, asked?.headers.authorization, JSON.parse(asked?.body ?? '')]).toEqual([
      'POST',
      '/search',
      `Bearer ${KEY}`,
      {
        query: 'open responses',
        search_depth: 'advanced',
        max_results: 5,
        include_domains: ['a.example'],
        exclude_domains: ['c.example'],
      },
    ]);
    expect(found).toEqual([{ url: 'https://a.example/', title: 'A', text: 'About A.' }]);
  });
});

describe('an engine that fails', () => {
  const html: RequestListener = (_, res) => void res.setHeader('content-type', 'text/html').end('<html>Log in</html>');
  const status =
    (code: number, headers = {}) =>
    (_: IncomingMessage, res: ServerResponse) =>
      void res.writeHead(code, headers).end(`The key ${KEY} is wrong.`);
  const endless = (_: IncomingMessage, res: ServerResponse) => {
    const more = () => {
      while (!res.destroyed && res.write('x'.repeat(65_536)));
    };
    res.on('drain', more);
    more();
  };

  it.each([
    ['answers in HTML', html, 'did not answer with a JSON object'],
    ['refuses its key', status(401), 'answered with the status 401'],
    ['redirects', status(302, { location: 'http://169.254.169.254/' }), 'answered with the status 302'],
    ['hangs up', (req: IncomingMessage) => void req.socket.destroy(), 'could not be reached'],
    ['never answers', () => {}, 'did not answer within 200 ms'],
    ['never ends', endless, 'answered with more than 4194304 bytes'],
    ['answers with a list', [], 'did not answer with a JSON object'],
  ])('[B-41] is reported to the model without its address or key where it %s', async (_, answer, expected) => {
    const timeoutMs = expected.includes('200') ? 200 : 10_000;
    const { found } = await searched((baseURL) => tavily({ apiKey: KEY, baseURL, timeoutMs }), answer);
    expect(found).toEqual(expect.stringContaining(`The search engine Tavily ${expected}`));
    expect(found).not.toEqual(expect.stringMatching(/127\.0\.0\.1|tvly/));
  });

  it('[B-41] is left when the call ends', async () => {
    const call = new AbortController();
    const { found } = await searched(
      (baseURL) => searxng({ baseURL }),
      () => call.abort(new Error('The client has left.')),
      { signal: call.signal },
    );
    expect(found).toBe('The client has left.');
  });
});

describe('mcpSearch', () => {
  const providerOf = (answer: ToolResult, seen: unknown[] = []): ToolProvider => ({
    name: 'mcp',
    list: () => [
      { server: 'other', name: 'find' },
      { server: 'web', name: 'find' },
    ],
    call: async ({ server, name, arguments: args, scope }) => {
      seen.push({ server, name, args, scope });
      return answer;
    },
  });
  const found = (content: ToolResult['content'], isError = false) =>
    mcpSearch(providerOf({ content, isError }), 'find')
      .search(QUERY)
      .catch((error: Error) => error.message);

  it('[B-41] calls the tool with the words, and other arguments', async () => {
    const seen: unknown[] = [];
    const engine = mcpSearch(providerOf({ content: '[]' }, seen), 'find', {
      server: 'web',
      argument: 'q',
      arguments: { page: 1 },
    });
    await engine.search(QUERY);
    expect(seen).toEqual([{ server: 'web', name: 'find', args: { page: 1, q: 'open responses' }, scope: 's' }]);
  });

  it('[B-41] reads a list of results in JSON', async () => {
    const listed = { total: 1, items: [{ link: 'https://a.example/', name: 'A', snippet: 'About A.' }] };
    expect(await found(JSON.stringify(listed))).toEqual([{ url: 'https://a.example/', title: 'A', text: 'About A.' }]);
  });

  it('[B-41] keeps other texts whole, and the addresses in them', async () => {
    const text = 'A: see https://a.example/x. And (https://b.example/)';
    expect(await found([{ type: 'input_text', text }])).toEqual([
      { text },
      { url: 'https://a.example/x', text: '' },
      { url: 'https://b.example/', text: '' },
    ]);
  });

  it('[B-41] fails with the tool, and without it', async () => {
    expect(await found('Out of quota.', true)).toBe('Out of quota.');
    const missing = mcpSearch(providerOf({ content: '' }), 'gone').search(QUERY);
    await expect(missing).rejects.toThrow("The search engine mcp has no tool 'gone' now.");
  });
});

describe('options', () => {
  it.each<[string, () => unknown, string]>([
    ['no base', () => searxng({} as never), 'searxng: baseURL is required, got undefined'],
    ['a file', () => searxng({ baseURL: 'file:///etc' }), 'searxng: baseURL must be an http or https URL'],
    ['no key', () => brave({} as never), 'brave: apiKey is required, got undefined'],
    ['a broken key', () => tavily({ apiKey: 'a\nb' }), 'tavily: apiKey must be a key: text without white space'],
    ['an unknown one', () => tavily({ apiKey: 'a', key: 'b' } as never), "tavily: unknown option 'key'"],
    ['a time', () => brave({ apiKey: 'a', timeoutMs: 0 }), 'brave: timeoutMs must be a whole number of milliseconds'],
    ['no provider', () => mcpSearch(undefined as never, 'x'), 'mcpSearch: the provider must be a ToolProvider'],
    ['no tool', () => mcpSearch({ call: () => {} } as never, ''), "mcpSearch: the tool's name must be text"],
    ['no engine', () => webSearch({} as never), 'webSearch: engine is required, got undefined'],
    ['no function', () => webSearch({ engine: {} as never }), 'webSearch: engine must be a search engine'],
    [
      'a policy',
      () => webSearch({ engine: searxng({ baseURL: 'http://x' }), egress: { scheme: 'x' } as never }),
      "egressGuard: unknown option 'scheme'",
    ],
    [
      'results',
      () => webSearch({ engine: searxng({ baseURL: 'http://x' }), maxResults: 0 }),
      'webSearch: maxResults must be a positive whole number, got 0',
    ],
  ])('[B-41] are checked at creation, without quoting keys: %s', (_, create, message) => {
    expect(create).toThrow(TypeError);
    expect(create).toThrow(message);
  });
});
