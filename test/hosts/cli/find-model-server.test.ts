/** The model server that `express-open-responses run` finds on this machine. */
import { findModelServer } from '../../../src/hosts/cli/open-model.ts';
import { startFakeUpstream } from '../../../src/testing/index.ts';
import { listening } from '../../support/listening.ts';

const portIn = (url: string) => Number(new URL(url).port);

describe('findModelServer', () => {
  it('[E-14] finds the first that lists a model: not one that is silent, something else, or empty', async () => {
    const silent = await listening(() => {});
    const other = await listening((_req, res) => void res.end('<html>'));
    const empty = await startFakeUpstream({ models: [] });
    const [first, second] = [await startFakeUpstream({ models: ['a'] }), await startFakeUpstream({ models: ['b'] })];
    const urls = [silent.url, other.url, empty.baseURL, first.baseURL, second.baseURL];
    const found = await findModelServer(urls.map((url) => ({ name: 'x', port: portIn(url) })));
    await Promise.all([silent, other, empty, first, second].map((each) => each.close()));
    expect(found).toBe(`http://127.0.0.1:${portIn(first.baseURL)}/v1`);
  });

  it('[E-14] says whom it has asked where none was found', async () => {
    const gone = await listening(() => {});
    await gone.close();
    const port = portIn(gone.url);
    await expect(
      findModelServer([
        { name: 'Ollama', port },
        { name: 'vLLM', port },
      ]),
    ).rejects.toThrow(
      `no model server was found on this machine: none of Ollama (port ${port}), vLLM (port ${port}) lists a model. Start one, or name yours with --upstream URL`,
    );
  });
});
