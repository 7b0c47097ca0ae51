/** The set by which searches are measured: every question has an answer, and no two are alike. */
import { questions, sections } from '../../bench/recall/set.mjs';

it('[X-14] names sections that there are, by names that are theirs alone', () => {
  const names = new Set(sections.map(({ name }) => name));
  const unknown = questions.flatMap(({ answers }) => answers).filter((answer) => !names.has(answer));
  expect([names.size === sections.length, unknown]).toEqual([true, []]);
});

it('[X-14] asks each question once, and as many of each kind', () => {
  const kinds = ['meaning', 'name', 'mixed'].map((kind) => questions.filter((each) => each.kind === kind).length);
  expect([new Set(questions.map(({ question }) => question)).size, kinds]).toEqual([90, [30, 30, 30]]);
});
