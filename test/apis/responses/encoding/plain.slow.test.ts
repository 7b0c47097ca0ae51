/** The templates say what the plain version says, on everything that a turn can say. */
import fc from 'fast-check';
import { openai } from '../../../../src/apis/dialects/dialects.ts';
import { Encoder } from '../../../../src/apis/responses/encoding/encoder.ts';
import { encodeBatch } from '../../../../src/apis/responses/encoding/fast-path.ts';
import { type EncodeOptions, wireEvent } from '../../../../src/apis/responses/encoding/wire-events.ts';
import { step } from '../../../../src/engine/turn/machine/machine.ts';
import { startState } from '../../../../src/engine/turn/machine/state.ts';
import type { TurnEvent } from '../../../../src/protocol/events.ts';
import { HEARTBEAT_FRAME, numberedFrame } from '../../../../src/streams/sse-frames.ts';
import { anyPlan, inputs } from '../../../engine/turn/arbitrary-turns.ts';
import { END } from '../../../engine/turn/whole-turn.ts';

const OPTIONS: EncodeOptions = {
  presentItem: (item) => item,
  started: { id: 'resp_1', object: 'response', status: 'in_progress', output: [], metadata: { text: '\u2028"\n' } },
  reasoning: 'summary',
  keepalive: 'keepalive',
};
const DONE = 'data: [DONE]\n\n';

/** Written event by event, without a template. */
function plainly(events: readonly TurnEvent[], options: EncodeOptions): string {
  return events
    .map((event) => {
      if (event.type === 'heartbeat') return HEARTBEAT_FRAME;
      const plain = wireEvent(event, options);
      const frame = plain && 'sequence' in event ? numberedFrame(plain, event.sequence) : '';
      return event.type === 'turn-end' ? frame + DONE : frame;
    })
    .join('');
}

const reasoning = fc.constantFrom('summary' as const, 'text' as const, 'spec' as const);

describe('the frames by templates', () => {
  it('[S-02] equal those that are written event by event, for any turn', () =>
    fc.assert(
      fc.property(anyPlan, inputs, reasoning, (plan, written, spelling) => {
        const [, events] = step(startState(plan), [...written, END]);
        const options = { ...OPTIONS, reasoning: spelling };
        expect(encodeBatch(events, options)).toBe(plainly(events, options));
      }),
      { numRuns: 500 },
    ));

  it('[S-15] say the same as the messages of a WebSocket', () =>
    fc.assert(
      fc.property(anyPlan, inputs, (plan, written) => {
        const [, events] = step(startState(plan), [...written, END]);
        const encoder = new Encoder({ ...OPTIONS, dialect: openai, isServerTool: () => false });
        const data = dataIn(encodeBatch(events, OPTIONS));
        expect(encoder.messages(events)).toEqual(data);
      }),
      { numRuns: 500 },
    ));
});

/** The data of each event; not by a pattern, whose `$` stops at line separators that JSON leaves in its texts. */
function dataIn(frames: string): readonly string[] {
  const parts = frames.split('\n').filter((line) => line.startsWith('data: {'));
  return parts.map((line) => line.slice('data: '.length));
}
