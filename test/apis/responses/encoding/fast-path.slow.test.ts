/** The frames of turn events. */
import fc from 'fast-check';
import { encodeBatch } from '../../../../src/apis/responses/encoding/fast-path.ts';
import type { EncodeOptions } from '../../../../src/apis/responses/encoding/wire-events.ts';
import type { ErrorBody } from '../../../../src/protocol/errors.ts';
import { NO_USAGE, type TurnEvent } from '../../../../src/protocol/events.ts';
import type { LogProb } from '../../../../src/protocol/items.ts';
import { logProbsText } from '../../../../src/protocol/json/log-probs.ts';

const OPTIONS: EncodeOptions = {
  presentItem: (item) => item,
  started: { id: 'resp_1', status: 'in_progress', output: [] },
  reasoning: 'summary',
  keepalive: 'keepalive',
};
const PLACE = { index: 1, itemId: 'msg_1', partIndex: 2 } as const;
const WIRE_PLACE = { item_id: 'msg_1', output_index: 1, content_index: 2 };

function frame(fields: Readonly<Record<string, unknown>>): string {
  return `event: ${fields.type}\ndata: ${JSON.stringify(fields)}\n\n`;
}

function textDelta(part: 'output_text' | 'refusal' | 'summary_text' | 'reasoning_text', text: string): TurnEvent {
  return { type: 'part-delta', sequence: 3, ...PLACE, part, text, logprobs: '' };
}

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('\n\n', '\r', '\u2028', '\u0000', '"\\', '\ud800', '</script>', 'data: [DONE]\n\n'),
);

describe('encodeBatch', () => {
  it('[S-02] [C-06] [M-13] writes a batch as one text of whole frames, LF only', () => {
    const batch: readonly TurnEvent[] = [
      { type: 'turn-start', sequence: 0 },
      { type: 'turn-queued', sequence: 1 },
      { type: 'turn-progress', sequence: 2 },
      { type: 'heartbeat' },
      { type: 'keepalive', sequence: 3 },
      { type: 'call-dropped', why: 'not_allowed', name: 'x' },
    ];
    expect([encodeBatch(batch, OPTIONS), encodeBatch([], OPTIONS)]).toEqual([
      [
        frame({ type: 'response.created', sequence_number: 0, response: OPTIONS.started }),
        frame({ type: 'response.queued', sequence_number: 1, response: { ...OPTIONS.started, status: 'queued' } }),
        frame({ type: 'response.in_progress', sequence_number: 2, response: OPTIONS.started }),
        ': heartbeat\n\n',
        frame({ type: 'keepalive', sequence_number: 3 }),
      ].join(''),
      '',
    ]);
  });

  it('[M-08] spells the event among the heartbeats as the host wants it', () => {
    expect(encodeBatch([{ type: 'keepalive', sequence: 3 }], { ...OPTIONS, keepalive: 'ping' })).toBe(
      frame({ type: 'ping', sequence_number: 3 }),
    );
  });

  it('[S-02] shows the client of each item what it is to be shown, when the item ends and when the turn does', () => {
    const item = {
      type: 'function_call',
      id: 'fc_1',
      status: 'completed',
      call_id: 'c',
      name: 'f',
      arguments: '{}',
    } as const;
    const [how, usage] = [{ status: 'completed', reason: null, error: null, completedAt: 7 }, NO_USAGE] as const;
    const batch: readonly TurnEvent[] = [
      { type: 'item-end', sequence: 1, index: 0, item },
      { type: 'turn-end', sequence: 2, ...how, output: [item], usage },
    ];
    const shown = { ...item, arguments: 'hidden' };
    const response = { id: 'resp_1', status: 'completed', output: [shown], completed_at: 7 };
    expect(encodeBatch(batch, { ...OPTIONS, presentItem: () => shown })).toBe(
      frame({ type: 'response.output_item.done', sequence_number: 1, output_index: 0, item: shown }) +
        frame({
          type: 'response.completed',
          sequence_number: 2,
          response: { ...response, error: null, incomplete_details: null, usage },
        }) +
        'data: [DONE]\n\n',
    );
  });

  it('[S-02] writes text deltas as JSON.stringify would, whatever the text', () => {
    fc.assert(
      fc.property(anyText, (delta) => {
        const type = 'response.output_text.delta';
        expect(encodeBatch([textDelta('output_text', delta)], OPTIONS)).toBe(
          frame({ type, sequence_number: 3, ...WIRE_PLACE, delta, logprobs: [] }),
        );
      }),
    );
  });

  it('[S-02] writes argument deltas as JSON.stringify would, whatever the text', () => {
    fc.assert(
      fc.property(anyText, (delta) => {
        const type = 'response.function_call_arguments.delta';
        const event = {
          type: 'arguments-delta',
          call: 'function_call',
          sequence: 3,
          index: 1,
          itemId: 'fc_1',
          text: delta,
        } as const;
        expect(encodeBatch([event], OPTIONS)).toBe(
          frame({ type, sequence_number: 3, item_id: 'fc_1', output_index: 1, delta }),
        );
      }),
    );
  });

  it('[S-09] writes the log probabilities of a text, piece by piece and whole', () => {
    const logprobs: readonly LogProb[] = [{ token: 'a', logprob: -1, bytes: [97], top_logprobs: [] }];
    const written = { ...PLACE, part: 'output_text', text: 'a', logprobs: logProbsText(logprobs) } as const;
    const events: readonly TurnEvent[] = [
      { type: 'part-delta', sequence: 3, ...written },
      { type: 'text-end', sequence: 4, ...written },
    ];
    expect(encodeBatch(events, OPTIONS)).toBe(
      frame({ type: 'response.output_text.delta', sequence_number: 3, ...WIRE_PLACE, delta: 'a', logprobs }) +
        frame({ type: 'response.output_text.done', sequence_number: 4, ...WIRE_PLACE, text: 'a', logprobs }),
    );
  });

  it.each([
    ['refusal', 'summary', 'response.refusal', 'content_index'],
    ['summary_text', 'summary', 'response.reasoning_summary_text', 'summary_index'],
    ['reasoning_text', 'text', 'response.reasoning_text', 'content_index'],
    ['reasoning_text', 'spec', 'response.reasoning', 'content_index'],
  ] as const)(
    '[S-08] [S-09] [M-07] [D-09] [D-10] [D-11] names the events of %s with reasoning: %s',
    (part, reasoning, name, counted) => {
      const end: TurnEvent = { type: 'text-end', sequence: 4, ...PLACE, part, text: 'ab', logprobs: '' };
      const place = { item_id: 'msg_1', output_index: 1, [counted]: 2 };
      const whole = part === 'refusal' ? { refusal: 'ab' } : { text: 'ab' };
      expect(encodeBatch([textDelta(part, 'ab'), end], { ...OPTIONS, reasoning })).toBe(
        frame({ type: `${name}.delta`, sequence_number: 3, ...place, delta: 'ab' }) +
          frame({ type: `${name}.done`, sequence_number: 4, ...place, ...whole }),
      );
    },
  );

  it('[A-07] [M-03] names the item and the tool where its arguments end', () => {
    const event: TurnEvent = {
      type: 'arguments-end',
      call: 'function_call',
      sequence: 4,
      index: 1,
      itemId: 'fc_1',
      name: 'f',
      arguments: '{}',
    };
    expect(encodeBatch([event], OPTIONS)).toBe(
      frame({
        type: 'response.function_call_arguments.done',
        sequence_number: 4,
        item_id: 'fc_1',
        output_index: 1,
        name: 'f',
        arguments: '{}',
      }),
    );
  });

  it('[M-21] reports only the position of a hosted call that failed, since clients throw for more', () => {
    const event: TurnEvent = {
      type: 'call-state',
      kind: 'mcp_call',
      state: 'failed',
      sequence: 4,
      index: 1,
      itemId: 'mcp_1',
    };
    expect(encodeBatch([event], OPTIONS)).toBe(
      frame({ type: 'response.mcp_call.failed', sequence_number: 4, item_id: 'mcp_1', output_index: 1 }),
    );
  });

  it('[M-09] [D-11] writes an error flat and nested, so that each client finds the form that it reads', () => {
    const error: ErrorBody = { type: 'server_error', code: 'upstream_error', message: 'No.', param: null };
    expect(encodeBatch([{ type: 'error', sequence: 4, error }], OPTIONS)).toBe(
      frame({ type: 'error', sequence_number: 4, code: 'upstream_error', message: 'No.', param: null, error }),
    );
  });

  it.each(['completed', 'incomplete', 'failed'] as const)(
    '[M-10] [M-11] ends a turn that is %s with that event and [DONE]',
    (status) => {
      const usage = {
        input_tokens: 1,
        input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
        output_tokens: 1,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 2,
      };
      const error: ErrorBody = { type: 'server_error', code: 'upstream_error', message: 'No.', param: null };
      const end: TurnEvent = {
        type: 'turn-end',
        sequence: 9,
        status,
        output: [],
        usage,
        completedAt: status === 'completed' ? 7 : null,
        reason: status === 'incomplete' ? 'max_output_tokens' : null,
        error: status === 'failed' ? error : null,
      };
      const response = {
        ...OPTIONS.started,
        status,
        completed_at: status === 'completed' ? 7 : null,
        error: status === 'failed' ? { ...error, code: 'server_error', reason: 'upstream_error' } : null,
        incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
        usage,
      };
      const text = encodeBatch([end], OPTIONS);
      const [event, data, ...rest] = text.split('\n');
      expect([event, JSON.parse(data?.slice('data: '.length) ?? ''), rest]).toEqual([
        `event: response.${status}`,
        { type: `response.${status}`, sequence_number: 9, response },
        ['', 'data: [DONE]', '', ''],
      ]);
    },
  );
});
