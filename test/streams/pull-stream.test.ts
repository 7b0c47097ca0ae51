/** Streams without promises where there is nothing to wait for. */
import { jest } from '@jest/globals';
import { type Consumer, closeThen, mapStream, pullInTurn, Stage, toPullStream } from '../../src/streams/pull-stream.ts';

class Closing extends Stage<string> {
  private readonly how: () => unknown;

  constructor(how: () => unknown) {
    super();
    this.how = how;
  }

  pull() {}

  close() {
    return this.how();
  }
}

/** What is called when a stream is closed that closes so: at once, and after a while. */
async function calledOf(how: () => unknown): Promise<readonly [readonly string[], readonly string[]]> {
  const called: string[] = [];
  const stream = mapStream(new Closing(how), { map: (chunk) => chunk, closed: () => called.push('closed') });
  closeThen(
    stream,
    () => called.push('next'),
    (error) => called.push(String(error)),
  );
  const atOnce = [...called];
  await new Promise(setImmediate);
  return [atOnce, called];
}

describe('closeThen', () => {
  it('calls at once where there is nothing to wait for, through every stage', async () => {
    expect(await calledOf(() => undefined)).toEqual([
      ['closed', 'next'],
      ['closed', 'next'],
    ]);
  });

  it('waits for what takes time', async () => {
    expect(await calledOf(() => Promise.resolve())).toEqual([['closed'], ['closed', 'next']]);
  });

  it.each([
    ['throws', () => fail()],
    ['rejects', () => Promise.reject(new Error('no'))],
  ])('reports a stream whose closing %s', async (_, how) => {
    const [, called] = await calledOf(how);
    expect(called).toEqual(['closed', 'Error: no']);
  });

  it('is what `return` of a stream does', async () => {
    await expect(new Closing(() => undefined).return()).resolves.toEqual({ done: true, value: undefined });
    await expect(new Closing(fail).return()).rejects.toThrow('no');
  });
});

describe('an iterator of the host', () => {
  const streamOf = (next: () => unknown) =>
    // The cast: the iterator breaks its type.
    toPullStream({ [Symbol.asyncIterator]: () => ({ next }) as unknown as AsyncIterator<string> });

  it('fails its stream where it throws at once', async () => {
    const onError = jest.fn();
    streamOf(fail).pull({ onChunk: fail, onEnd: fail, onError });
    await new Promise(setImmediate);
    expect(onError.mock.calls).toEqual([[new Error('no')]]);
  });

  it('may return its pieces without promises', async () => {
    const pieces = ['a', 'b'].values();
    const read: string[] = [];
    for await (const piece of streamOf(() => pieces.next())) read.push(piece);
    expect(read).toEqual(['a', 'b']);
  });
});

it('streams in turn end with their source, also if the one that is read cannot be closed', async () => {
  let isOver = false;
  async function* streams() {
    try {
      yield new Endless();
    } finally {
      isOver = true;
    }
  }
  const all = pullInTurn(streams());
  await all.next();
  await expect(all.return()).rejects.toThrow('no');
  expect(isOver).toBe(true);
});

/** A stream that cannot be closed. */
class Endless extends Stage<string> {
  pull(consumer: Consumer<string>) {
    consumer.onChunk('piece');
  }

  close() {
    return Promise.reject(new Error('no'));
  }
}

function fail(): never {
  throw new Error('no');
}
