/** The model server that `express-open-responses run` finds on this machine. */
import { findModelServer, openModel } from '../../../src/hosts/cli/open-model.ts';
import { startDemoModel, startFakeUpstream } from '../../../src/testing/index.ts';
import { listening, NOBODY } from '../../support/listening.ts';

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
    const { port } = NOBODY;
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

it('[X-16] asks whether an address lacks its path, where a server answers there and has no models', async () => {
  const demo = await startDemoModel();
  const { origin } = new URL(demo.baseURL);
  const warnings: string[] = [];
  const { close } = await openModel({ upstream: origin, apiKey: '' }, (line) => warnings.push(line));
  await Promise.all([close(), demo.close()]);
  expect(warnings).toEqual([
    `${origin} did not list its models: There is no GET /models. Does --upstream lack '/v1' at its end? Requests are sent to it all the same.`,
  ]);
});
