/** Calls that take long: what keeps them alive, and what the host receives of them. */
import { jest } from '@jest/globals';
import { progressReporter } from '../../../src/engine/tools/call-reports.ts';
import { runCall } from '../../../src/engine/tools/run-call.ts';
import type { ToolCall, ToolProgress, ToolProvider, ToolResult } from '../../../src/ports/tool-provider.ts';

const limits = { toolTimeoutMs: 1_000, toolMaxMs: 5_000, toolOutputBytes: 1_000 };

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** Runs a call; the test reports its progress and its result. */
function begun(more: Partial<typeof limits> = {}) {
  const reported: ToolProgress[] = [];
  let call: ToolCall | undefined;
  let settle: (result: ToolResult) => void = () => {};
  const provider: ToolProvider = {
    name: 'test',
    list: () => [],
    call(received) {
      call = received;
      return new Promise((resolve) => {
        settle = resolve;
      });
    },
  };
  const outcome = runCall({ provider, tool: { server: 's', name: 'slow' } }, '{}', {
    scope: 'a',
    requestId: 'req',
    request: {},
    limits: { ...limits, ...more },
    signal: new AbortController().signal,
    onProgress: (progress) => reported.push(progress),
  });
  const step = (progress: number) => call?.onProgress?.({ progress });
  return { outcome, reported, step, settle: (content: string) => settle({ content }) };
}

describe('a call that takes long', () => {
  it('[X-15] is kept alive by its progress', async () => {
    const { outcome, step, settle } = begun();
    for (let passed = 0; passed < 4; passed += 1) {
      jest.advanceTimersByTime(999);
      step(passed);
    }
    settle('done');
    expect(await outcome).toEqual({ output: 'done', failed: false });
  });

  it('[X-15] ends where it makes no progress for a while', async () => {
    const { outcome, step } = begun();
    jest.advanceTimersByTime(999);
    step(1);
    jest.advanceTimersByTime(1_000);
    expect(await outcome).toMatchObject({ failed: true, output: expect.stringContaining('within 1000 ms') });
  });

  it('[X-15] ends at last, whatever progress it makes', async () => {
    const { outcome, step } = begun();
    for (let passed = 0; passed < 10; passed += 1) {
      jest.advanceTimersByTime(500);
      step(passed);
    }
    expect(await outcome).toMatchObject({
      failed: true,
      output: expect.stringContaining('did not end within 5000 ms'),
    });
  });

  it('[X-15] without progress may take as long as before, whatever a call with progress may take', async () => {
    const { outcome, settle } = begun({ toolTimeoutMs: 10_000 });
    jest.advanceTimersByTime(9_999);
    settle('done');
    expect(await outcome).toEqual({ output: 'done', failed: false });
  });

  it('[X-15] reports nothing once it has ended, and leaves no timer', async () => {
    const { outcome, reported, step, settle } = begun();
    settle('done');
    await outcome;
    step(1);
    expect([reported, jest.getTimerCount()]).toEqual([[], 0]);
  });
});

describe('the progress of a call', () => {
  it('[X-15] is reported ten times a second at most', () => {
    const reported: ToolProgress[] = [];
    const report = progressReporter((progress) => reported.push(progress));
    for (let step = 0; step < 100_000; step += 1) {
      if (step % 1_000 === 0) jest.advanceTimersByTime(10);
      report({ progress: step });
    }
    expect(reported.map(({ progress }) => progress)).toEqual([
      0,
      ...Array.from({ length: 9 }, (_, nth) => (nth + 1) * 10_000),
    ]);
  });

  it.each([[undefined], [null], ['half'], [{}], [{ progress: '1' }], [{ progress: Number.NaN }]])(
    '[X-15] that is none is not reported: %j',
    (progress) => {
      const report = jest.fn();
      progressReporter(report)(progress);
      expect(report).not.toHaveBeenCalled();
    },
  );

  it('[X-15] has a bounded message and numbers', () => {
    const report = jest.fn();
    progressReporter(report)({ progress: 1, total: 'many', message: 'x'.repeat(1_000_000), other: 'secret' });
    expect(report).toHaveBeenCalledWith({ progress: 1, message: 'x'.repeat(1_024) });
  });
});
