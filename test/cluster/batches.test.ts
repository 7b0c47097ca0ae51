/** A batch over several processes, which are killed one after the other: no line is lost, and none that finished is run again. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI, { toFile } from 'openai';
import { chatCompletion } from '../../src/testing/index.ts';
import { eventually } from './cluster.ts';
import { onEachDatabase } from './world.ts';

const LINES = 600;
const KILLS = 4;

const folder = mkdtempSync(join(tmpdir(), 'batches-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const suite: Parameters<typeof onEachDatabase>[1] = (world) => {
  it('[E-10] goes on wherever its processes are killed, and has each line once', async () => {
    const { cluster, model } = world;
    const asked = new Map<string, number>();
    model.say(({ body }) => {
      const id = /"(line-\d+)"/.exec(JSON.stringify(body))?.[1] ?? '';
      asked.set(id, (asked.get(id) ?? 0) + 1);
      return { body: chatCompletion(`Answer to ${id}.`) };
    });
    const clientOf = (url: string) => new OpenAI({ baseURL: url, apiKey: 'any', maxRetries: 0 });
    const [first] = cluster.without();
    const client = clientOf(first.url);
    const lines = Array.from({ length: LINES }, (_, index) =>
      JSON.stringify({
        ...{ custom_id: `line-${index}`, method: 'POST', url: '/v1/responses' },
        body: { model: 'fake-model', input: `line-${index}` },
      }),
    );
    const file = await client.files.create({
      file: await toFile(Buffer.from(lines.join('\n')), 'in.jsonl'),
      purpose: 'batch',
    });
    const batch = await client.batches.create({
      input_file_id: file.id,
      endpoint: '/v1/responses',
      completion_window: '24h',
    });
    const completed = async () => {
      const [node] = cluster.without();
      const { status, request_counts } = await clientOf(node.url).batches.retrieve(batch.id);
      return { status, count: Number(request_counts?.completed) };
    };
    for (let kill = 1; kill <= KILLS; kill += 1) {
      await eventually('some more lines are answered', async () => {
        const { status, count } = await completed();
        return status === 'completed' || count >= (LINES / (KILLS + 2)) * kill || undefined;
      });
      const [victim] = cluster.nodes;
      await victim?.kill();
      await cluster.fill(3);
    }
    const over = await eventually(
      'the batch is completed',
      async () => (await completed()).status === 'completed' || undefined,
    );
    expect(over).toBe(true);
    const [node] = cluster.without();
    const reader = clientOf(node.url);
    const done = await reader.batches.retrieve(batch.id);
    const text = await (await reader.files.content(String(done.output_file_id))).text();
    const ids = text
      .split('\n')
      .filter((each) => each !== '')
      .map((each) => JSON.parse(each).custom_id as string);
    expect([done.request_counts, ids.length, new Set(ids).size]).toEqual([
      { total: LINES, completed: LINES, failed: 0 },
      LINES,
      LINES,
    ]);
    // Those that a killed process was waiting for, or had not kept yet: at most 8 of each of its parts.
    const repeats = [...asked.values()].reduce((sum, count) => sum + count - 1, 0);
    expect([asked.size, repeats <= KILLS * 8 * 2]).toEqual([LINES, true]);
  });
};

onEachDatabase('a batch', suite, { folder });
