/** Warnings to the host: by its logger, which may break nothing. */
import { jest } from '@jest/globals';
import { warner } from '../../src/ports/host/logger.ts';
import { throttled } from '../../src/ports/host/warner.ts';

afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

describe('a warning', () => {
  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('broken');
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken'))],
  ])('[P-14] whose logger %s becomes a warning of the process', async (_name, warn) => {
    const emitted = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    warner({ debug() {}, info() {}, warn, error() {} })('Look out.');
    await Promise.resolve();
    expect(emitted.mock.calls).toEqual([['logger.warn threw: Error: broken', 'ExpressOpenResponsesWarning']]);
  });

  it('is one of the process without a logger, and none with false', () => {
    const emitted = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    for (const logger of [undefined, false] as const) warner(logger)('Look out.');
    expect(emitted.mock.calls).toEqual([['Look out.', 'ExpressOpenResponsesWarning']]);
  });

  it('[P-14] that others can cause is given once a minute', () => {
    jest.useFakeTimers();
    const given: string[] = [];
    const warn = throttled((message) => given.push(message));
    for (const pauseMs of [0, 59_999, 1, 1]) {
      jest.advanceTimersByTime(pauseMs);
      warn(`after ${pauseMs}`);
    }
    expect(given).toEqual(['after 0', 'after 1']);
  });
});
