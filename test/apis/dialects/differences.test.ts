/** What is written down of the dialects, held side by side: none says what is another's own. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DialectName } from '../../../src/ports/dialect.ts';
import { SCENARIOS } from './scenarios.ts';
import { allGolden, eventsOf, golden, NAMES } from './support.ts';

/** What only one of them says; the name says what it is. */
const OWN: readonly (readonly [what: string, dialect: DialectName, pattern: RegExp])[] = [
  ['A-16, a legacy call that is announced', 'open-responses-server', /response\.tool_calls\.created/],
  ['A-05, a call that is ready', 'open-responses-server', /"status":"ready"/],
  ['A-04, a snapshot with items in it', 'open-responses-server', /"type":"response\.in_progress".*"output":\[\{/],
  ['A-07, an id beside item_id', 'open-responses-server', /function_call_arguments\.done".*"id":/],
  ['A-08, a result as text', 'open-responses-server', /output_text\.delta".*"item_id":"fco_/],
  ['M-07, raw reasoning by its name', 'vllm-responses', /response\.reasoning\.(delta|done)/],
  ['B-11, the output of a completed call', 'vllm-responses', /mcp_call\.completed","seq.*"output":/],
  ['M-09, a flat error', 'vllm-responses', /"type":"error",(?!.*"error":\{)/],
  ['B-30, its words for what is not there', 'vllm-responses', /No response found with id '/],
  ['C-08, a required action', 'tokligence', /required_action/],
  ['C-09, tool calls as the reason', 'tokligence', /"reason":"tool_calls"/],
  ['C-10, outputs that were submitted', 'tokligence', /submit_tool_outputs [^\n]*\n< 200/],
];

/** What each says, but for the one. */
function others(dialect: DialectName): readonly DialectName[] {
  return NAMES.filter((name) => name !== dialect);
}

describe('what is one dialect’s own', () => {
  it.each(OWN)('[M-22] is sent by that dialect alone: [%s]', (_what, dialect, pattern) => {
    const saying = NAMES.filter((name) => pattern.test(allGolden(name)));
    expect(saying).toEqual([dialect]);
  });

  it('[M-11] is, of [DONE], that open-responses-server never says it', () => {
    const counts = NAMES.map((name) => allGolden(name).split('data: [DONE]').length > 1);
    expect(counts).toEqual([true, false, true, true]);
  });

  it('[M-10] is, of how a stream ends, that open-responses-server knows one end only', () => {
    const ends = NAMES.map((name) => [
      ...new Set(allGolden(name).match(/(?<="type":)"response\.(incomplete|failed)"/g)),
    ]);
    const all = ['"response.failed"', '"response.incomplete"'];
    expect(ends.map((each) => each.toSorted())).toEqual([all, [], all, all]);
  });

  it('[M-15, M-22] is no event that the default does not say, but for three', () => {
    const known = typesIn('openai');
    const more = others('openai').map((name) => [name, [...typesIn(name)].filter((type) => !known.has(type))]);
    expect(more).toEqual([
      ['open-responses-server', ['response.tool_calls.created']],
      ['vllm-responses', ['response.reasoning.delta', 'response.reasoning.done']],
      ['tokligence', ['response.required_action']],
    ]);
  });
});

function typesIn(dialect: DialectName): ReadonlySet<string> {
  return new Set(eventsOf(allGolden(dialect)).map(({ type }) => type));
}

describe.each(NAMES)('the dialect %s', (dialect) => {
  it('[M-12, M-13, C-05, C-06] numbers the events of each stream from 0 without gaps, under a line of their name', () => {
    const wrong = streamsOf(dialect).filter((stream) => {
      const numbers = eventsOf(stream).map(({ sequence_number: number }) => number);
      const names = [...stream.matchAll(/^event: (\S+)\ndata: \{"type":"([^"]+)"/gm)];
      const named = names.length === numbers.length && names.every(([, line, type]) => line === type);
      return !named || numbers.some((number, index) => number !== index);
    });
    expect([streamsOf(dialect).length > SCENARIOS.length - 2, wrong]).toEqual([true, []]);
  });
});

function streamsOf(dialect: DialectName): readonly string[] {
  const answers = SCENARIOS.flatMap(({ name }) => golden(dialect, name).split(/^> /m));
  return answers.filter((answer) => answer.includes('< 200 text/event-stream'));
}

describe('src', () => {
  const root = join(import.meta.dirname, '../../../src');
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));

  it('decides nothing by the name of a dialect outside of dialects', () => {
    const wrong = files
      // The port has the list of names.
      .filter((file) => !file.startsWith('apis/dialects/') && file !== 'ports/dialect.ts')
      .filter((file) => /vllm-responses|open-responses-server|tokligence|\bdialect\.name\b/.test(codeOf(file)));
    expect([files.length > 100, wrong]).toEqual([true, []]);
  });

  it('names them there, so that the rule above can fail', () => {
    expect(codeOf('apis/dialects/dialects.ts')).toContain('vllm-responses');
  });

  function codeOf(file: string): string {
    return readFileSync(join(root, file), 'utf8').replace(/^\s*(\/\*\*?|\*|\/\/).*$/gm, '');
  }
});
