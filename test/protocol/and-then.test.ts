/** Steps that wait only for promises. */
import { mapMaybePromise } from '../../src/protocol/record.ts';

describe('andThen', () => {
  it('goes on at once with a value, and later with a promise', async () => {
    const add = (value: number) => value + 1;
    expect(mapMaybePromise(1, add)).toBe(2);
    await expect(mapMaybePromise(Promise.resolve(1), add)).resolves.toBe(2);
    await expect(mapMaybePromise(1, async (value) => value + 1)).resolves.toBe(2);
  });

  it('leaves a failure to whoever waits', async () => {
    const fail = () => {
      throw new Error('no');
    };
    expect(() => mapMaybePromise(1, fail)).toThrow('no');
    await expect(mapMaybePromise(Promise.resolve(1), fail)).rejects.toThrow('no');
    await expect(mapMaybePromise(Promise.reject(new Error('before')), fail)).rejects.toThrow('before');
  });
});
