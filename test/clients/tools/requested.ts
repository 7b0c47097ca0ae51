/** What reaches the model in each talk, by how much of the server's calls a client brings back. */
import type { ScenarioName } from './scenarios.ts';
import type { Reported } from './talk-app.ts';

/** The conversation in each request to the model, for each scenario. */
export type Requested = Readonly<Record<ScenarioName, Reported['requested']>>;

const FIRST = 'user: How is Rome?';
const LOST = 'user: How is Atlantis?';
const THANKS = ['assistant: Sunny at noon.', 'user: Thanks.'];
const NO_THANKS = ['assistant: There is none.', 'user: Thanks.'];
const rome = (call: number, result = 'Sunny in Rome.') => [
  `assistant: #${call} weather {"city":"Rome"}`,
  `tool #${call}: ${result}`,
];
const oslo = (call: number) => [`assistant: #${call} weather {"city":"Oslo"}`, `tool #${call}: Sunny in Oslo.`];
const clock = (call: number) => [`assistant: #${call} clock {"zone":"CET"}`, `tool #${call}: Noon in CET.`];
const LOOKED_ROME = 'assistant: Let me look. #1 weather {"city":"Rome"}';
const LOOKED = [LOOKED_ROME, 'tool #1: Sunny in Rome.'];
const TIMED = ['assistant: Now the time. #2 clock {"zone":"CET"}', 'tool #2: Noon in CET.'];
const BOTH_CALLED = 'assistant: #1 weather {"city":"Rome"} #2 clock {"zone":"CET"}';
const BOTH = [BOTH_CALLED, 'tool #1: Sunny in Rome.', 'tool #2: Noon in CET.'];
const SUNK = ['assistant: #1 weather {"city":"Atlantis"}', 'tool #1: No such city.'];

/** Requests of which each begins with the whole of the one before. */
function growing(...steps: readonly (readonly string[])[]): Reported['requested'] {
  return steps.map((_, index) => steps.slice(0, index + 1).flat());
}

/** The client, or the store for it, brings everything back. */
export const everything: Requested = {
  alone: growing([FIRST], rome(1), ['assistant: It is sunny.', 'user: And Oslo?'], oslo(2)),
  inTurn: growing([FIRST], LOOKED, TIMED, THANKS),
  together: growing([FIRST], BOTH, THANKS),
  failing: growing([LOST], SUNK, NO_THANKS),
};

/** Everything comes back, but without the ids that show which calls were made side by side. */
export const apart: Requested = { ...everything, together: growing([FIRST], [...rome(1), ...clock(2)], THANKS) };

/** The same from a client that puts items in the order in which they were done: its own call needs no waiting. */
export const asDone: Requested = { ...everything, together: growing([FIRST], [...clock(1), ...rome(2)], THANKS) };

/** The ids are lost with the second question only. */
export const apartLater: Requested = {
  ...everything,
  together: [...growing([FIRST], BOTH), [FIRST, ...rome(1), ...clock(2), ...THANKS]],
};

const FORGOTTEN = '(no output was recorded)';

/** The client drops the results of the server's calls, though not that one failed, and there is no store to ask. */
export const unrecorded: Requested = {
  alone: [
    ...growing([FIRST], rome(1)),
    ...growing([FIRST, ...rome(1, FORGOTTEN), 'assistant: It is sunny.', 'user: And Oslo?'], oslo(2)),
  ],
  inTurn: [...growing([FIRST], LOOKED), ...growing([FIRST, LOOKED_ROME, `tool #1: ${FORGOTTEN}`, ...TIMED], THANKS)],
  together: growing([FIRST], [BOTH_CALLED, `tool #1: ${FORGOTTEN}`, 'tool #2: Noon in CET.'], THANKS),
  failing: everything.failing,
};

/** The client drops the server's calls: nothing is left of them but the words around them. */
export const ownCalls: Requested = {
  alone: [...growing([FIRST], rome(1)), ...growing([FIRST, 'assistant: It is sunny.', 'user: And Oslo?'], oslo(1))],
  inTurn: [
    ...growing([FIRST], LOOKED),
    ...growing(
      [FIRST, 'assistant: Let me look.', 'assistant: Now the time. #1 clock {"zone":"CET"}', 'tool #1: Noon in CET.'],
      THANKS,
    ),
  ],
  together: growing([FIRST], clock(1), THANKS),
  failing: [...growing([LOST], SUNK), [LOST, ...NO_THANKS]],
};

/** The same from a client that keeps all the words of one response as one message. */
export const ownCallsJoined: Requested = {
  ...ownCalls,
  inTurn: [
    ...growing([FIRST], LOOKED),
    ...growing(
      [FIRST, 'assistant: Let me look.Now the time. #1 clock {"zone":"CET"}', 'tool #1: Noon in CET.'],
      THANKS,
    ),
  ],
};

/** The client writes the server's calls behind its own, and those behind the words. */
export const wordsFirst: Requested = {
  alone: [
    ...growing([FIRST], rome(1)),
    ...growing(
      [FIRST, 'assistant: It is sunny. #1 weather {"city":"Rome"}', 'tool #1: Sunny in Rome.', 'user: And Oslo?'],
      oslo(2),
    ),
  ],
  inTurn: [
    ...growing([FIRST], LOOKED),
    ...growing(
      [FIRST, 'assistant: Let me look.Now the time. #1 clock {"zone":"CET"}', 'tool #1: Noon in CET.', ...rome(2)],
      THANKS,
    ),
  ],
  together: asDone.together,
  failing: [
    ...growing([LOST], SUNK),
    [LOST, 'assistant: There is none. #1 weather {"city":"Atlantis"}', 'tool #1: No such city.', 'user: Thanks.'],
  ],
};

/** The Chat wire: calls of the server's come back with those of the client's, a turn without any is its text. */
export const besideOwnCalls: Requested = { ...everything, alone: ownCalls.alone, failing: ownCalls.failing };
