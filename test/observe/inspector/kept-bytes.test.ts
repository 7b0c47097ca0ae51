/** The memory of answers: blocks that are used again. */
import fc from 'fast-check';
import { takeEvents } from '../../../src/observe/inspector/recording/live-items.ts';
import { ModelCallRecord } from '../../../src/observe/inspector/recording/model-call.ts';
import { BLOCK_BYTES, BlockPool, PooledBytes } from '../../../src/observe/inspector/recording/pooled-bytes.ts';
import { Ring } from '../../../src/observe/inspector/recording/ring.ts';
import { responseView } from '../../../src/observe/inspector/server/response-view.ts';

const INFO = { requestId: 'req_1', responseId: 'resp_1', scope: 'a', model: 'm', stream: true, background: false };

function recorded({ limit = 1 << 20, maxBytes = 1 << 24 } = {}) {
  const ring = new Ring({ maxResponses: 10, maxBytes });
  const recording = ring.begin(INFO);
  const pool = new BlockPool();
  const call = new ModelCallRecord(recording, 'own', { limit, pool });
  recording.addCall(call);
  return { ring, recording, call, pool };
}

describe('KeptBytes', () => {
  it('[X-10] gives back what was appended, in pieces of any size', () => {
    const pieces = fc.array(fc.uint8Array({ maxLength: 3 * BLOCK_BYTES }), { maxLength: 12 });
    fc.assert(
      fc.property(pieces, (all) => {
        const kept = new PooledBytes(new BlockPool());
        for (const each of all) kept.append(Buffer.from(each), each.length);
        const whole = Buffer.concat(all);
        expect([kept.text(), kept.length, kept.size]).toEqual([
          whole.toString(),
          whole.length,
          Math.ceil(whole.length / BLOCK_BYTES) * BLOCK_BYTES,
        ]);
      }),
    );
  });

  it('[X-10] uses the memory of what was forgotten, and shows nothing of it', () => {
    const pool = new BlockPool();
    const [first, second] = [new PooledBytes(pool), new PooledBytes(pool)];
    const block = pool.take();
    pool.giveBack(block);
    first.append(Buffer.from('a secret of one tenant'), 22);
    first.clear();
    second.append(Buffer.from('hello'), 5);
    expect([first.text(), second.text(), block.toString('utf8', 0, 5)]).toEqual(['', 'hello', 'hello']);
  });
});

describe('the answer of a recorded call', () => {
  it('[X-10] ends at the limit, and what is missing is counted', () => {
    const { call } = recorded({ limit: 10 });
    call.received(Buffer.from('12345678'));
    call.received(Buffer.from('9abcdef'));
    call.received(Buffer.from('g'));
    expect([call.answer, call.answerCut]).toEqual(['123456789a', 6]);
  });

  it('[X-10] counts in the memory of all recordings, whose oldest gives its own back', () => {
    const { ring, recording, call } = recorded({ maxBytes: 1 << 20 });
    const before = ring.bytes;
    call.received(Buffer.alloc(BLOCK_BYTES + 1, 'x'));
    expect(ring.bytes - before).toBe(2 * BLOCK_BYTES);
    ring.clear();
    call.received(Buffer.from('too late'));
    expect([recording.isEvicted, call.answer, call.answerCut, ring.bytes]).toEqual([true, '', 8, 0]);
  });

  it('[X-10] is not kept of a call beyond those that one response may have', () => {
    const { recording, pool } = recorded();
    const calls = Array.from({ length: 1000 }, () => new ModelCallRecord(recording, 'own', { limit: 10, pool }));
    expect(calls.map((call) => recording.addCall(call)).filter((isKept) => !isKept)).toHaveLength(1);
  });
});

describe('the text of an item that grows', () => {
  it('[X-10] counts while it grows, and no more once the item is there', () => {
    const { ring, recording } = recorded();
    const settings = { limit: 1000, redacted: (item: unknown) => item, keepsGrowing: true };
    const item = { type: 'message', id: 'msg_1', role: 'assistant', status: 'in_progress', content: [] } as const;
    const delta = {
      type: 'part-delta',
      sequence: 1,
      index: 0,
      itemId: 'msg_1',
      partIndex: 0,
      part: 'output_text',
    } as const;
    takeEvents(recording, [{ type: 'item-start', sequence: 0, index: 0, item }], settings);
    const before = ring.bytes;
    takeEvents(recording, [{ ...delta, text: 'ten of ten', logprobs: '' }], settings);
    const growing = ring.bytes - before;
    takeEvents(recording, [{ ...delta, text: 'x'.repeat(500), logprobs: '' }], settings);
    takeEvents(
      recording,
      [{ type: 'item-end', sequence: 3, index: 0, item: { ...item, status: 'completed' } }],
      settings,
    );
    expect([growing, recording.items[0]?.growing.text, ring.bytes - before < 1020]).toEqual([20, '', true]);
  });
});

describe('the answer as it is shown', () => {
  const STREAM =
    'event: a\ndata: {"n":1,"api_key":"hunter2-hunter2"}\n\n: nothing\n\ndata: {"password":"hunter2-hunter2"}';

  it.each([
    ['a stream without its last blank line', STREAM, {}, '{"n":1,"api_key":"***"}\n{"password":"***"}'],
    ['a stream that goes on', STREAM, { runs: true }, '{"n":1,"api_key":"***"}'],
    ['a stream that is cut', STREAM, { limit: 85 }, '{"n":1,"api_key":"***"}'],
    ['a body', '{"password": "hunter2-hunter2"}', {}, '{"password":"***"}'],
    ['a body that is cut', '{"password": "hunter2-hunter2"}', { limit: 25 }, ''],
  ])(
    '[X-10] has no secret in it: %s',
    (_, sent, { limit = 1000, runs = false }: { limit?: number; runs?: boolean }, shown) => {
      const { ring, recording, call } = recorded({ limit });
      call.received(Buffer.from(sent));
      if (!runs) call.ended();
      const [view] = responseView(ring, recording, new URLSearchParams()).callList;
      expect(view?.answer.text).toBe(shown);
    },
  );
});

describe('the request as it is shown', () => {
  it('[X-10] has no secret in it where it is cut', () => {
    const { ring, recording, call } = recorded({ limit: 200 });
    call.sent(JSON.stringify({ password: 'hunter2-hunter2', input: 'x'.repeat(1000) }));
    const [view] = responseView(ring, recording, new URLSearchParams()).callList;
    expect(view?.request.text).toMatch(/^\{"password":"\*\*\*","input":"x+… \(\d+ more characters\)"\}$/);
    expect(view?.request.cut).toBeGreaterThan(800);
  });
});
