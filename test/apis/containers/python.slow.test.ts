/** Files in and out of real Python: uploaded by a client, read and written by code, and fetched by the client. */
import { pyodideRuntime } from 'express-open-responses/code-interpreter';
import { memoryFiles } from 'express-open-responses/files';
import { says } from '../../engine/tools/support.ts';
import { ASKING, runs } from '../../tools/code-interpreter/interpreter.ts';
import { isolation } from '../../tools/code-interpreter/outer.ts';
import { PATIENCE } from '../../tools/code-interpreter/support.ts';
import { startContainersApp, textFile } from './containers-app.ts';

const CODE = [
  'import csv, os',
  "rows = list(csv.DictReader(open('data.csv')))",
  "os.makedirs('out', exist_ok=True)",
  "open('out/sum.txt', 'w').write(str(sum(int(row['n']) for row in rows)))",
  "os.remove('data.csv')",
  'len(rows)',
].join('\n');

describe('a container of Python', () => {
  it(
    '[E-04] takes files of a client, and gives it those that code writes, also after its process has ended',
    async () => {
      const runtime = pyodideRuntime({ warm: 0, isolation });
      const app = await startContainersApp({ runtime, storage: memoryFiles() });
      const { containers, responses } = app.client;
      const { id } = await containers.create({ name: 'sums' });
      await containers.files.create(id, { file: await textFile('n\n40\n2\n') });
      const tools = [{ type: 'code_interpreter' as const, container: id }];
      const ask = async (code: string, answer: string) => {
        app.fake.reply(runs(code), says(answer));
        // The cast: `ASKING` is any JSON.
        return responses.create({ ...ASKING, model: 'm', input: 'Go.', tools } as never) as ReturnType<
          typeof responses.create
        > as Promise<{ readonly output: readonly unknown[] }>;
      };
      const first = await ask(CODE, 'It is in [the file](sandbox:/mnt/data/out/sum.txt).');
      expect(first.output).toMatchObject([
        { status: 'completed', outputs: [{ logs: '2' }, { logs: 'Files written: out/sum.txt' }] },
        { content: [{ annotations: [{ type: 'container_file_citation', filename: 'sum.txt' }] }] },
      ]);
      const [file, ...others] = (await containers.files.list(id)).data;
      expect([file?.path, others]).toEqual(['/mnt/data/out/sum.txt', []]);
      const content = await containers.files.content.retrieve(file?.id ?? '', { container_id: id });
      expect(await content.text()).toBe('42');
      const crashed = await ask(
        'import ctypes\nctypes.string_at(0)\n' + 'x = [bytearray(2**27) for _ in range(40)]',
        'Oh.',
      );
      expect(crashed.output.length).toBe(2);
      const last = await ask("open('out/sum.txt').read()", 'Done.');
      expect(JSON.stringify(last.output)).toContain("'42'");
      await runtime.close();
      await app.close();
    },
    PATIENCE,
  );
});
