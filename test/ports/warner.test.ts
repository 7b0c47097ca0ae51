/** Warnings to the host: by its function, which may break nothing. */
import { jest } from '@jest/globals';
import { throttled, warner } from '../../src/ports/host/warner.ts';

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
  ])('[P-14] whose function %s becomes a warning of the process', async (_name, onWarning) => {
    const emitted = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    warner(onWarning)('Look out.');
    await Promise.resolve();
    expect(emitted.mock.calls).toEqual([['onWarning threw: Error: broken', 'ExpressOpenResponsesWarning']]);
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
