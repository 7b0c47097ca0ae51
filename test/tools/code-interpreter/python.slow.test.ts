/** The code interpreter with real Python: what a model computes over HTTP, from the client's file to the client's picture. */
import { codeInterpreter, pyodideRuntime } from 'express-open-responses/code-interpreter';
import { chatBody, says, toolTexts, withTools } from '../../engine/tools/support.ts';
import { itBuilt } from '../../examples/support.ts';
import { openaiClient } from '../../support/responses-client.ts';
import { ASKING, runs } from './interpreter.ts';
import { BWRAP } from './outer.ts';
import { PATIENCE } from './support.ts';

const CSV = 'city,sun\nRome,7\nOslo,5\n';
const READ = "import csv\nrows = list(csv.DictReader(open('sun.csv')))\nsum(int(row['sun']) for row in rows)";
const DRAW = "open('dot.png', 'wb').write(bytes([137, 80]))\nprint(len(rows), 'rows')";

describe('real Python', () => {
  itBuilt('dist/esm/tools/code-interpreter/index.js')(
    '[T-11, B-37, B-38] reads the client’s file, keeps its variables for the next response, raises, and draws',
    async () => {
      const runtime = BWRAP ? undefined : pyodideRuntime({ isolation: 'process-only' });
      const tools = codeInterpreter({ runtime });
      try {
        await withTools({ tools, limits: { tools: { timeoutMs: PATIENCE } } }, async ({ url, fake }) => {
          fake.reply(runs(READ), says('12.'), runs(DRAW), runs('1 / 0'), says('Drawn.'));
          const client = openaiClient(url);
          const data = `data:text/csv;base64,${Buffer.from(CSV).toString('base64')}`;
          const file = { type: 'input_file', filename: 'sun.csv', file_data: data };
          const requested = { model: 'm', ...ASKING, input: [{ role: 'user', content: [file] }] };
          // The casts: the requests are what the types allow.
          const first = await client.responses.create(requested as never);
          const more = { model: 'm', ...ASKING, input: 'Draw.', previous_response_id: (first as { id: string }).id };
          const second = await client.responses.stream(more as never).finalResponse();
          const [read] = (first as typeof second).output;
          expect([read, ...second.output]).toMatchObject([
            { type: 'code_interpreter_call', status: 'completed', code: READ, outputs: [{ type: 'logs', logs: '12' }] },
            {
              outputs: [
                { logs: '2 rows' },
                { type: 'image', url: 'data:image/png;base64,iVA=' },
                { logs: 'Files written: dot.png' },
              ],
            },
            { status: 'completed', outputs: [{ logs: expect.stringContaining('ZeroDivisionError') }] },
            { type: 'message' },
          ]);
          const [last] = fake.requests.slice(-1).map(chatBody);
          expect(last && Object.values(toolTexts(last))).toEqual([
            '12',
            '2 rows\n[image]\nFiles written: dot.png',
            expect.stringContaining('ZeroDivisionError'),
          ]);
        });
      } finally {
        await tools.close?.();
        await runtime?.close();
      }
    },
    PATIENCE,
  );
});
