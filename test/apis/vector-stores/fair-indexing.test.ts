/** A tenant whose files take all the time there is does not keep those of others from being indexed. */
import type { Embedder } from '../../../src/vector-stores.ts';
import { gate } from '../../support/gate.ts';
import { startVectorsApp, textFile } from './vectors-app.ts';

it('[G-07] indexes another tenant’s file while a greedy one’s take all places that it gets', async () => {
  const open = gate();
  const begun: string[] = [];
  const embedder: Embedder = {
    name: 'slow for one',
    async embed(texts) {
      const [text = ''] = texts;
      begun.push(text);
      if (text.startsWith('greedy')) await open.opened;
      return texts.map(() => Float32Array.of(1, 0));
    },
  };
  const app = await startVectorsApp({ stores: { embeddings: embedder, indexing: { parallelFiles: 3 } } });
  try {
    const much = await app.client.vectorStores.create({});
    for (let count = 0; count < 6; count += 1) {
      const { id } = await app.client.files.create({ file: await textFile(`greedy ${count}`), purpose: 'assistants' });
      await app.client.vectorStores.files.create(much.id, { file_id: id });
    }
    const little = await app.other.vectorStores.create({});
    const { id } = await app.other.files.create({ file: await textFile('modest'), purpose: 'assistants' });
    const file = await app.other.vectorStores.files.createAndPoll(little.id, { file_id: id });
    expect([file.status, begun]).toEqual(['completed', ['greedy 0', 'greedy 1', 'modest']]);
    open.open();
    await app.client.vectorStores.files.list(much.id);
  } finally {
    open.open();
    await app.close();
  }
});
