/** The inspector's page in a real browser. */
import { execFile } from 'node:child_process';
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { functionTools, type RouterOptions } from '../../src/index.ts';
import type { Inspector, InspectorOptions } from '../../src/observe/inspector/index.ts';
import { textStream, toolCallStream } from '../../src/testing/index.ts';
import { containers } from '../../src/tools/code-interpreter/index.ts';
import { type InspectedApp, startInspected } from '../observe/inspector/inspected-app.ts';
import { describeWith } from '../support/services.ts';
import { javascriptRuntime } from '../tools/code-interpreter/interpreter.ts';
import { CHROMIUM, openPage, startBrowser, type WatchedPage } from './browser.ts';

const tools = functionTools({
  now: { description: 'The time.', execute: () => 'noon' },
  greet: {
    description: 'A greeting.',
    parameters: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    execute: (({ name }: { readonly name: string }) => `Hello, ${name}!`) as never,
  },
});

/** A trace of the tenant of requests without a header, whose texts hold this one. */
function agentTrace(responseId: string, text: string) {
  const times = { startedAt: 1000, endedAt: 2000, error: text || 'It failed.' };
  const response = { type: 'response', response_id: responseId };
  return {
    scope: tenantOf({ headers: {} }),
    traces: [{ id: 'trace_1', name: `Chat ${text}`, groupId: `group ${text}` }],
    spans: [
      {
        ...times,
        id: 'a',
        traceId: 'trace_1',
        parentId: null,
        data: { type: 'agent', name: `Helper ${text}` },
        responseId: undefined,
      },
      { ...times, id: 'b', traceId: 'trace_1', parentId: 'a', data: response, responseId },
      {
        ...times,
        id: 'c',
        traceId: 'trace_1',
        parentId: 'a',
        data: { type: text || 'function', text },
        responseId: text || undefined,
      },
    ],
  };
}

/** Containers, and a run in one of them whose texts, names and files hold this one. */
function usedContainers() {
  const kept = containers({ runtime: { ...javascriptRuntime(), keepsTerms: ['allowedDomains'] } });
  const networkPolicy = { type: 'allowlist', allowedDomains: ['a.example.com', 'b.example.com'] } as const;
  async function use(text: string): Promise<void> {
    const container = await kept.create(tenantOf({ headers: {} }), { name: `work ${text}`, networkPolicy });
    const code = `const text = ${JSON.stringify(text)}; print('said ' + text); write('of ' + text.slice(0, 60), ''); missing(text)`;
    await kept.run(container, code, [], new AbortController().signal);
  }
  return { kept, use };
}

const counts = { total: 3, completed: 1, failed: 1 };
/** Batches and deliveries of every tenant, whose name they hold. */
const jobs: InspectorOptions = {
  batches: {
    recent: async (scope) => [
      { id: `batch_${scope}`, endpoint: `/v1/${scope}`, status: 'in_progress', created_at: 5, request_counts: counts },
    ],
  },
  webhooks: {
    deliveries: async (scope) => [
      {
        ...{
          id: 'evt_1',
          type: `response.${scope}`,
          subject: 'resp_1',
          endpoint: 'https://example.org',
          at: 5,
          attempt: 2,
        },
        ...{ outcome: 'failed', status: 500, error: `It said ${scope}`, nextAt: 9 },
      },
    ],
  },
};

describeWith(CHROMIUM, 'chromium')('the page of the inspector', () => {
  let browser: Browser;
  let app: InspectedApp;
  let watched: WatchedPage;

  beforeAll(async () => {
    browser = await startBrowser();
  });

  afterAll(() => browser.close());

  async function start(inspector: InspectorOptions = {}, options: RouterOptions = {}, view: object = {}) {
    app = await startInspected(inspector, options);
    watched = await openPage(browser, app.origin, view);
    const { page } = watched;
    return { ...app, page, open: (place: string) => page.goto(`${app.origin}/inspect/${place}`) };
  }

  afterEach(async () => {
    const { faults, page } = watched;
    await page.close();
    await app.close();
    expect(faults).toEqual([]);
  });

  it('[X-10] shows a stream while it runs, and its end', async () => {
    const { page, open, fake, origin } = await start();
    await open('#/');
    await page.getByText('No request has arrived yet.').waitFor();
    const [first = '', ...rest] = textStream(['Once upon ', 'a time.']).split(/(?<=\n\n)/);
    fake.reply({ body: [first + (rest[0] ?? ''), rest.slice(1).join('')], paceMs: 1500 });
    const headers = { 'content-type': 'application/json' };
    const asked = JSON.stringify({ model: 'fake-model', input: 'A story, please.', stream: true });
    const answer = fetch(`${origin}/v1/responses`, { method: 'POST', headers, body: asked }).then((each) =>
      each.text(),
    );
    await page.getByRole('link', { name: 'A story, please.' }).click();
    await page.locator('.title .status.running').waitFor();
    await page.locator('.entry .body', { hasText: 'Once upon' }).waitFor();
    await answer;
    await page.locator('.title .status.completed').waitFor();
    await page.locator('.entry .body', { hasText: 'Once upon a time.' }).waitFor();
  });

  it('[X-10] draws a timeline that agrees with what was recorded', async () => {
    const { page, open, fake, post, seen } = await start({}, { tools });
    fake.reply(
      { body: toolCallStream([{ id: 'call_1', name: 'now', arguments: '{}' }]) },
      { body: textStream(['It is ', 'noon.']), paceMs: 5 },
    );
    await post({ model: 'fake-model', input: 'What time is it?' });
    await open('#/responses/1');
    await page.locator('.timeline tbody tr').first().waitFor();
    const drawn = await page.locator('.timeline tbody tr').evaluateAll((lines) =>
      lines.map((line) => {
        const bar = line.querySelector('rect');
        const [x, width] = ['x', 'width'].map((name) => Number(bar?.getAttribute(name)));
        return { start: Number(line.getAttribute('data-start')), end: Number(line.getAttribute('data-end')), x, width };
      }),
    );
    const { duration, callList, itemList, toolRuns } = (await seen('responses/1')) as never as Recorded;
    const spans = [...callList, ...itemList, ...toolRuns].map(({ start: from, end }) => [from, end]);
    const inOrder = (list: number[][]) => list.toSorted(([a = 0, b = 0], [c = 0, d = 0]) => a - c || b - d);
    expect(inOrder(drawn.map(({ start: from, end }) => [from, end]))).toEqual(inOrder([[0, duration], ...spans]));
    // To scale, but for the narrowest bars.
    const last = Math.max(...drawn.map(({ end }) => end));
    for (const { start: from, end, x = 0, width = 0 } of drawn) {
      expect(Math.abs(x - (from / last) * 1000)).toBeLessThanOrEqual(3);
      expect(Math.abs(x + width - (end / last) * 1000)).toBeLessThanOrEqual(3.5);
    }
  });

  it('[X-10] shows hostile texts as text', async () => {
    const { page, open, fake, post, inspector, rows } = await start({}, {}, { viewport: { width: 800, height: 600 } });
    const hostile = `<script>window.hacked = 1</script><img src=x onerror="window.hacked = 1">\u202egnp.exe ${'w'.repeat(1_000_000)}`;
    fake.reply({ body: textStream(hostile) });
    await post({
      model: '<b>model</b>\u202e',
      input: hostile,
      metadata: { '<i>': '</pre><script>window.hacked = 1</script>' },
    });
    const [row] = await rows();
    inspector.receiveTraces({ ...agentTrace(String(row?.id), hostile.slice(0, 2000)), scope: String(row?.tenant) });
    for (const place of ['#/', '#/responses/1', '#/conversations', '#/upstreams', '#/traces']) {
      await open(place);
      await page.reload();
      await page
        .locator('main', { hasText: '<script>window.hacked' })
        .or(page.locator('main section'))
        .first()
        .waitFor();
      expect(
        await page.evaluate(() => ({
          hacked: 'hacked' in window,
          foreign: document.querySelectorAll('main script, main img, main b, main i, iframe').length,
          overflow: document.documentElement.scrollWidth > innerWidth,
          turned: document.body.innerText.includes('\u202e'),
        })),
      ).toEqual({ hacked: false, foreign: 0, overflow: false, turned: false });
    }
    await open('#/responses/1');
    await page.locator('.entry .body', { hasText: '⟨U+202E⟩gnp.exe' }).waitFor();
  });

  it('[X-10] goes through 5,000 items in pages', async () => {
    const { page, open, fake, post } = await start();
    const calls = Array.from({ length: 5000 }, (_, at) => ({ id: `call_${at}`, name: 'f', arguments: `{"at":${at}}` }));
    fake.reply({ body: toolCallStream(calls) });
    await post({
      model: 'fake-model',
      input: 'Go.',
      tools: [{ type: 'function', name: 'f', parameters: { type: 'object' } }],
    });
    await open('#/responses/1');
    await page.getByText('1–200 of 5,000').waitFor();
    await page.getByRole('button', { name: 'Later' }).click();
    await page.getByText('201–400 of 5,000').waitFor();
    expect(await page.locator('.entry').count()).toBe(200);
  });

  it('[X-10] labels each response with its tenant, and shows those of one', async () => {
    const { page, open, post } = await start({}, { scope: tenantOf });
    for (const tenant of ['acme', 'globex'])
      await post({ model: 'fake-model', input: `from ${tenant}` }, { 'x-tenant': tenant });
    await open('#/');
    const lines = page.locator('.requests tbody tr');
    await lines.nth(1).waitFor();
    const labels = () =>
      lines.evaluateAll((all) =>
        all.map((line) => ['a.line', '.tenant'].map((part) => line.querySelector<HTMLElement>(part)?.innerText)),
      );
    expect(await labels()).toEqual([
      ['from globex', 'globex'],
      ['from acme', 'acme'],
    ]);
    await page.getByLabel('tenant').selectOption('acme');
    await page.getByText('1 of 2 kept').waitFor();
    expect(await labels()).toEqual([['from acme', 'acme']]);
    await lines.getByRole('link').click();
    await page.locator('.facts .tenant', { hasText: 'acme' }).waitFor();
    await open('#/conversations');
    expect(
      await page
        .locator('.tree .tenant')
        .first()
        .waitFor()
        .then(() => page.locator('.tree .tenant').allInnerTexts()),
    ).toEqual(['globex', 'acme']);
  });

  it('[X-10] leads from the timeline to what belongs to a line of it', async () => {
    const { page, open, fake, post } = await start({}, { tools });
    fake.reply(
      { body: toolCallStream([{ id: 'call_1', name: 'now', arguments: '{}' }]) },
      { body: textStream('It is noon.') },
    );
    await post({ model: 'fake-model', input: 'What time is it?' });
    await open('#/responses/1');
    await page.getByRole('button', { name: 'model call 2' }).click();
    await page.getByLabel('Request of model call 2').getByText('What time is it?').waitFor();
    expect(await page.getByLabel('Request of model call 1').count()).toBe(0);
  });

  it('[X-10] is not there for a request that is refused', async () => {
    const { page, open } = await start({ authorize: () => false });
    const answer = await open('');
    expect([answer?.status(), await page.locator('#app').count()]).toEqual([403, 0]);
    // The browser itself reports the status, and asks for an icon.
    watched = await openPage(browser, app.origin);
  });

  it.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 360],
    ['dark', 360],
  ] as const)('[X-10] has no fault that axe finds, in %s mode at %i pixels', async (colorScheme, width) => {
    const view = { colorScheme, viewport: { width, height: 800 } };
    const { kept, use } = usedContainers();
    const { page, open, fake, post, inspector } = await start(
      { playground: true, ...jobs, containers: kept },
      { tools, scope: tenantOf },
      view,
    );
    fake.reply(
      { body: toolCallStream([{ id: 'call_1', name: 'now', arguments: '{}' }]) },
      { body: textStream('It is noon.') },
      { status: 500, body: 'broken' },
      { body: textStream('Fine.') },
    );
    const { id } = JSON.parse(await post({ model: 'fake-model', input: 'What time is it?' }));
    await post({ model: 'fake-model', input: 'And now?' });
    await post({ model: 'fake-model', input: 'More?', previous_response_id: id });
    await post({ model: 'fake-model', input: 5 });
    // Each has another colour.
    for (const tenant of 'abcdefgh') await post({ model: 'fake-model', input: 'Hi' }, { 'x-tenant': tenant });
    inspector.receiveTraces(agentTrace(id, ''));
    await use('fine');
    for (const place of [
      '',
      'responses/1',
      'responses/2',
      'conversations',
      'tools',
      'upstreams',
      'traces',
      'jobs',
      'containers',
      'playground?from=1',
    ]) {
      await open(`#/${place}`);
      await page.reload();
      await page.locator('h1').waitFor();
      await page.waitForLoadState('networkidle').catch(() => {});
      for (const summary of await page.locator('summary').all()) await summary.click();
      await page.evaluate(axe.source);
      const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
        'axe.run()',
      );
      const overflows = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
      expect([place, violations.map(({ id: rule, nodes }) => [rule, nodes[0]?.html]), overflows]).toEqual([
        place,
        [],
        false,
      ]);
    }
  });

  it('[E-17] shows a trace beside its response, and leads from its page to the response', async () => {
    const { page, open, post, inspector } = await start({}, { scope: tenantOf });
    const { id } = JSON.parse(await post({ model: 'fake-model', input: 'Hi' }));
    await open('#/responses/1');
    await page.locator('.title .status.completed').waitFor();
    // It comes when the page is open already.
    inspector.receiveTraces(agentTrace(id, ''));
    await page.getByRole('heading', { name: 'Traces' }).waitFor();
    expect(await page.getByRole('region', { name: 'Trace Chat' }).locator('tbody tr').allInnerTexts()).toEqual([
      expect.stringMatching(/^agent Helper/),
      expect.stringMatching(/^response[\s\S]*this one$/),
      expect.stringMatching(/^function/),
    ]);
    await page.getByRole('link', { name: 'Traces' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Trace Chat' }).getByRole('link', { name: '1' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Hi' }).waitFor();
  });

  it('[E-11] shows the batches and deliveries of the tenant that is typed, and hostile names as text', async () => {
    const { page, open, post } = await start(jobs, { scope: tenantOf });
    await post({ model: 'fake-model', input: 'Hi' });
    await open('#/jobs');
    await page.getByLabel('Tenant').focus();
    expect(await page.locator('datalist option').count()).toBe(1);
    const hostile = '<img src=x onerror="window.hacked = 1">\u202egnp';
    await page.keyboard.type(hostile);
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Batches' }).getByText('in_progress').waitFor();
    await page.getByRole('region', { name: 'Deliveries of webhooks' }).getByText('It said <img src=x').waitFor();
    expect(
      await page.evaluate(() => [
        'hacked' in window,
        document.querySelectorAll('main img').length,
        document.body.innerText.includes('\u202e'),
      ]),
    ).toEqual([false, 0, false]);
  });

  it('[E-05] shows what ran in a container and its files, by the keyboard alone, and hostile texts as text', async () => {
    const { kept, use } = usedContainers();
    const { page, open } = await start({ containers: kept }, {}, { viewport: { width: 400, height: 600 } });
    await open('#/containers');
    await page.getByText('Nothing has run in a container yet.').waitFor();
    const hostile = `<img src=x onerror="window.hacked = 1"><script>window.hacked = 1</script>\u202egnp ${'w'.repeat(100_000)}`;
    await use(hostile);
    await page.reload();
    await page.getByText('a.example.com, b.example.com').waitFor();
    await page.locator('summary').focus();
    await page.keyboard.press('Enter');
    const output = page.getByLabel('Output');
    await output.getByText('said <img src=x').waitFor();
    await page.getByText('more were not kept.').first().waitFor();
    await page.getByLabel(/^Files of cntr_/).focus();
    await page.getByRole('rowheader', { name: /^of <img/ }).waitFor();
    expect(
      await page.evaluate(() => [
        'hacked' in window,
        document.querySelectorAll('main img, main script').length,
        document.body.innerText.includes('\u202e'),
        document.documentElement.scrollWidth > innerWidth,
      ]),
    ).toEqual([false, 0, false, false]);
    await kept.close();
  });

  it('[X-10] is used with the keyboard alone', async () => {
    const { page, open, post } = await start();
    for (const input of ['apples', 'pears', 'more apples']) await post({ model: 'fake-model', input });
    await open('#/');
    await page.locator('a.line').nth(2).waitFor();
    const focused = () => page.evaluate(() => (document.activeElement as HTMLElement).innerText);
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Skip to content');
    await page.keyboard.press('/');
    await page.keyboard.type('apples');
    await page.getByText('2 of 3 kept').waitFor();
    await page.locator('a.line').first().focus();
    await page.keyboard.press('ArrowDown');
    expect(await focused()).toBe('apples');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'apples' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Requests' }).waitFor();
  });

  it('[X-10] filters 10,000 responses', async () => {
    const { page, open, post, inspector } = await start({ maxResponses: 10_000 });
    keepMany(inspector);
    await open('#/');
    await page.getByText('10,000 kept').waitFor();
    const times: number[] = [];
    // The fastest of some, since other processes may have the processor.
    for (let at = 0; at < 12; at += 1) times.push(await filtering(page, `question ${9980 + at} `));
    expect(Math.min(...times)).toBeLessThan(100);
    await page.locator('input[type=search]').fill('question 9999');
    await page.getByText('1 of 10,000 kept').waitFor();
    await post({ model: 'fake-model', input: 'question 99990' });
    await page.getByText('2 of 10,000 kept').waitFor();
  });

  it('[X-10] shows 10,000 responses within a tenth of a second', async () => {
    const { page, open, inspector } = await start({ maxResponses: 10_000 });
    keepMany(inspector);
    await open('#/conversations');
    await page.getByText('10,000 in memory').waitFor();
    const times: number[] = [];
    for (let at = 0; at < 12; at += 1) {
      await page.evaluate(() => {
        location.hash = '#/conversations';
      });
      await page.getByText('10,000 in memory').waitFor();
      times.push(await page.evaluate(showing));
    }
    expect(Math.min(...times)).toBeLessThan(100);
  });

  it('[X-10] runs a tool with arguments from its schema', async () => {
    const { page, open } = await start({ playground: true }, { tools });
    await open('#/tools');
    await page.locator('.tool summary', { hasText: 'greet' }).click();
    const given = page.getByLabel('Arguments of greet');
    expect(JSON.parse(await given.inputValue())).toEqual({ name: '' });
    await given.fill('{ "name": "<b>Ada</b>" }');
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByText(/^Done after/).waitFor();
    expect(await page.getByLabel('Result of greet').innerText()).toBe('Hello, <b>Ada</b>!');
  });

  it('[X-10] offers no tool to be run without the playground', async () => {
    const { page, open } = await start({}, { tools });
    await open('#/tools');
    await page.locator('.tool summary', { hasText: 'greet' }).click();
    await page.getByLabel('Schema of functions greet').waitFor();
    expect(await page.getByRole('button', { name: 'Run' }).count()).toBe(0);
  });

  it('[X-10] shows a call side by side, raw, and as the difference from what the client sent', async () => {
    const { page, open, post } = await start();
    await post({ model: 'fake-model', input: 'Hi there' });
    await open('#/responses/1');
    const request = page.getByLabel('Request of model call 1');
    await request.getByText('"content": "Hi there"').waitFor();
    await page.getByText('raw', { exact: true }).click();
    expect(await request.innerText()).toContain('{"role":"user","content":"Hi there"}');
    await page.getByText('diff', { exact: true }).click();
    const lines = await page.getByLabel('Difference of model call 1').innerText();
    expect(lines).toMatch(/−.*"input": "Hi there"/);
    expect(lines).toMatch(/\+.*"messages": \[/);
  });

  it('[X-10] copies a request as a curl that its API understands', async () => {
    const { page, open, post, origin } = await start();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const body = { model: 'fake-model', max_tokens: 50, messages: [{ role: 'user', content: "It's me" }] };
    await post(body, {}, 'messages');
    await open('#/responses/1');
    await page.getByRole('button', { name: 'Copy as curl' }).click();
    await page.getByText('Copied').waitFor();
    const command = await page.evaluate(() => navigator.clipboard.readText());
    const { stdout } = await promisify(execFile)('bash', ['-c', `API_KEY=none ${command.replace('curl', 'curl -s')}`]);
    expect([command.includes(`${origin}/v1/messages`), JSON.parse(stdout).type]).toEqual([true, 'message']);
  });

  it('[X-10] loads a response that has ended once, whatever else arrives', async () => {
    const { page, open, post } = await start();
    await post({ model: 'fake-model', input: 'one' });
    await open('#/responses/1');
    await page.getByLabel('Answer of model call 1').waitFor();
    await page.waitForLoadState('networkidle');
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await post({ model: 'fake-model', input: 'two' });
    await page.getByRole('link', { name: 'Requests' }).first().click();
    await page.getByRole('link', { name: 'two' }).waitFor();
    expect(asked.filter((path) => path.includes('/responses/1'))).toEqual([]);
  });

  it('[X-10] draws a branch of a conversation beside the line that it leaves', async () => {
    const { page, open, post } = await start();
    const { id } = JSON.parse(await post({ model: 'fake-model', input: 'root' }));
    await post({ model: 'fake-model', input: 'main', previous_response_id: id });
    await post({ model: 'fake-model', input: 'branch', previous_response_id: id });
    await open('#/conversations');
    await page.locator('.tree li').nth(2).waitFor();
    const drawn = await page.locator('.tree li').evaluateAll((turns) =>
      turns.map((turn) => ({
        text: turn.querySelector('a')?.innerText,
        x: turn.querySelector('circle')?.getAttribute('cx'),
        curves: turn.querySelectorAll('path').length,
      })),
    );
    expect(drawn).toEqual([
      { text: 'root', x: '9', curves: 0 },
      { text: 'branch', x: '27', curves: 1 },
      { text: 'main', x: '9', curves: 0 },
    ]);
  });

  it('[X-10] sends what is composed, and a recorded request with a change', async () => {
    const { page, open, fake, post } = await start({ playground: true });
    await post({ model: 'another-model', input: 'The first.', stream: true });
    fake.reply({ body: textStream('The second answer.') });
    await open('#/responses/1');
    await page.getByRole('link', { name: 'Replay with a change' }).click();
    const body = page.getByLabel('body', { exact: true });
    await page.waitForFunction(() => document.querySelector('textarea')?.value.includes('The first.'));
    expect(await page.getByLabel('model', { exact: true }).inputValue()).toBe('another-model');
    await body.fill((await body.inputValue()).replace('The first.', 'The second.'));
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText(/^200 OK after/).waitFor();
    expect(await page.locator('.answer').innerText()).toBe('The second answer.');
    await page.getByText('events', { exact: true }).click();
    expect(await page.getByLabel('Events of the answer').textContent()).toMatch(
      /response\.created.*response\.completed/s,
    );
    expect(fake.requests.at(-1)?.body).toMatchObject({ messages: [{ role: 'user', content: 'The second.' }] });
  });
});

/** The tenant that a test names. */
function tenantOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  return String(headers['x-tenant'] ?? 'nobody');
}

/** Fills the ring. */
function keepMany(inspector: Inspector): void {
  const { hooks } = inspector.observe({});
  for (let at = 0; at < 10_000; at += 1) {
    const info = {
      ...{ requestId: `req_${at}`, responseId: `resp_${at}` },
      ...{ scope: `tenant ${at % 7}`, model: `model ${at % 3}` },
      ...({ api: 'responses', stream: true, background: false } as const),
    };
    const body = { model: info.model, input: `Question ${at} of many` };
    hooks.onTurn?.({ ...info, body, signal: new AbortController().signal });
  }
}

/** Milliseconds from the typing of a text that one response has, until its line is painted. */
function filtering(page: Page, text: string): Promise<number> {
  return page.evaluate(async (wanted) => {
    const search = document.querySelector('input[type=search]') as HTMLInputElement;
    const isThere = () =>
      document.querySelector('.title')?.textContent?.includes('1 of 10,000 kept') &&
      document.querySelector('a.line')?.textContent?.toLowerCase().startsWith(wanted);
    const began = performance.now();
    search.value = wanted;
    search.dispatchEvent(new Event('input', { bubbles: true }));
    while (!isThere()) await new Promise(requestAnimationFrame);
    return performance.now() - began;
  }, text);
}

/** Milliseconds from the choice of the page until its first fifty lines are painted. */
async function showing(): Promise<number> {
  const began = performance.now();
  location.hash = '#/';
  while (document.querySelectorAll('a.line').length < 50) await new Promise(requestAnimationFrame);
  return performance.now() - began;
}

interface Recorded {
  readonly duration: number;
  readonly callList: readonly Span[];
  readonly itemList: readonly Span[];
  readonly toolRuns: readonly Span[];
}

interface Span {
  readonly start: number;
  readonly end: number;
}
