/** The inspector's page in a real browser. */
import axe from 'axe-core';
import type { Browser } from 'playwright-core';
import { functionTools, type RouterOptions } from '../../src/index.ts';
import type { InspectorOptions } from '../../src/inspector/index.ts';
import { textStream, toolCallStream } from '../../src/testing/index.ts';
import { type InspectedApp, startInspected } from '../inspector/inspected-app.ts';
import { describeWith } from '../support/services.ts';
import { CHROMIUM, openPage, startBrowser, type WatchedPage } from './browser.ts';

const tools = functionTools({ now: { description: 'The time.', execute: () => 'noon' } });

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
    await page.locator('.facts .status.running').waitFor();
    await page.locator('.entry .body', { hasText: 'Once upon' }).waitFor();
    await answer;
    await page.locator('.facts .status.completed').waitFor();
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
    const { page, open, fake, post } = await start({}, {}, { viewport: { width: 800, height: 600 } });
    const hostile = `<script>window.hacked = 1</script><img src=x onerror="window.hacked = 1">\u202egnp.exe ${'w'.repeat(1_000_000)}`;
    fake.reply({ body: textStream(hostile) });
    await post({
      model: '<b>model</b>\u202e',
      input: hostile,
      metadata: { '<i>': '</pre><script>window.hacked = 1</script>' },
    });
    for (const place of ['#/', '#/responses/1', '#/conversations', '#/upstreams']) {
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
  ] as const)('[X-10] has no fault that axe finds, in %s mode at %i pixels', async (colorScheme, width) => {
    const view = { colorScheme, viewport: { width, height: 800 } };
    const { page, open, fake, post } = await start({ playground: true }, { tools }, view);
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
    for (const place of [
      '',
      'responses/1',
      'responses/2',
      'conversations',
      'tools',
      'upstreams',
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
    const { hooks } = inspector.observe({});
    for (let at = 0; at < 10_000; at += 1) {
      const info = {
        requestId: `req_${at}`,
        responseId: `resp_${at}`,
        scope: `tenant ${at % 7}`,
        model: `model ${at % 3}`,
      };
      const rest = { stream: true, background: false, signal: new AbortController().signal };
      hooks.onTurn?.({ ...info, ...rest, body: { model: info.model, input: `Question ${at} of many` } });
    }
    await open('#/');
    await page.getByText('10,000 kept').waitFor();
    const began = performance.now();
    await page.locator('input[type=search]').fill('question 9999');
    await page.getByText('1 of 10,000 kept').waitFor();
    // Some hundredths of a second on an idle machine.
    expect(performance.now() - began).toBeLessThan(5000);
    await post({ model: 'fake-model', input: 'question 99990' });
    await page.getByText('2 of 10,000 kept').waitFor();
  });

  it('[X-10] sends what is composed, and a recorded request with a change', async () => {
    const { page, open, fake, post } = await start({ playground: true });
    await post({ model: 'fake-model', input: 'The first.', stream: true });
    fake.reply({ body: textStream('The second answer.') });
    await open('#/responses/1');
    await page.getByRole('link', { name: 'Replay with a change' }).click();
    const body = page.getByLabel('body', { exact: true });
    await page.waitForFunction(() => document.querySelector('textarea')?.value.includes('The first.'));
    await body.fill((await body.inputValue()).replace('The first.', 'The second.'));
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText(/^200 OK after/).waitFor();
    expect(await page.locator('.answer').innerText()).toBe('The second answer.');
    expect(await page.getByLabel('Events of the answer').innerText()).toMatch(
      /response\.created.*response\.completed/s,
    );
    expect(fake.requests.at(-1)?.body).toMatchObject({ messages: [{ role: 'user', content: 'The second.' }] });
  });
});

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
