/** Values that are pushed while a source is read. */
import { interleaved } from '../../src/streams/interleaved.ts';
import { deferred } from '../engine/tools/support.ts';

async function read<Value>(source: AsyncIterable<Value>): Promise<readonly Value[]> {
  const values: Value[] = [];
  for await (const value of source) values.push(value);
  return values;
}

describe('interleaved', () => {
  it('[T-05] yields what is pushed before the source’s next value before it', async () => {
    const source = interleaved<string>(async function* (push) {
      push('pushed at once');
      yield 'first';
      push('pushed between');
      await null;
      push('pushed later');
      yield 'second';
      push('pushed last');
    });
    expect(await read(source)).toEqual([
      'pushed at once',
      'first',
      'pushed between',
      'pushed later',
      'second',
      'pushed last',
    ]);
  });

  it('[T-05] hands on a pushed value while the source is still at work', async () => {
    const work = deferred();
    const source = interleaved<string>(async function* (push) {
      push('pushed');
      await work.promise;
      yield 'done';
    });
    expect(await source.next()).toEqual({ done: false, value: 'pushed' });
    work.resolve();
    expect(await read(source)).toEqual(['done']);
  });

  it('[T-05] fails as the source does, after what came before', async () => {
    const source = interleaved<string>(async function* (push) {
      push('pushed');
      yield await Promise.reject(new Error('broken'));
    });
    expect(await source.next()).toEqual({ done: false, value: 'pushed' });
    await expect(source.next()).rejects.toThrow('broken');
  });

  it('[T-05] asks the source for a value only when the one before was read', async () => {
    let made = 0;
    const source = interleaved<number>(async function* () {
      for (;;) yield ++made;
    });
    await source.next();
    await new Promise(setImmediate);
    expect(made).toBe(1);
    expect(await source.next()).toEqual({ done: false, value: 2 });
    await source.return(undefined);
  });
});
