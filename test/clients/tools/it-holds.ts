/** Tests that a client can hold every talk. */
import type { CoreOptions } from '../../../src/index.ts';
import type { Requested } from './requested.ts';
import { scenarios } from './scenarios.ts';
import { type Converse, hold } from './talk-app.ts';

/** How a client is used: in words, and the requirements that this way proves besides. */
export interface Way {
  readonly title: string;
  readonly endpoint: 'responses' | 'chat';
  readonly rows?: string;
  /** Options of both routers. */
  readonly options?: CoreOptions;
}

/** One test for each talk: the answers, the runs of both sides' tools, and every request to the model. */
export function itHolds({ title, endpoint, rows, options }: Way, converse: Converse, expected: Requested): void {
  it.each(
    scenarios.map((scenario) => ({ ...scenario, ids: [scenario.rows[endpoint], rows].filter(Boolean).join(', ') })),
  )(`[$ids] ${title}: $title`, async (scenario) => {
    const { answers, ran, requested } = await hold(converse, scenario, options);
    expect({ answers, ran, requested }).toEqual({
      answers: scenario.answers,
      ran: scenario.ran,
      requested: expected[scenario.name],
    });
  });
}
