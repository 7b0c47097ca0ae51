/** The options of `imageGeneration`: what is refused at creation, and what providers of the host's own may answer. */
import { type ImageGenerationOptions, imageGeneration } from 'express-open-responses/image-generation';
import type { ToolProvider } from '../../../src/index.ts';
import { calls, played, says } from '../../engine/tools/support.ts';
import { ASKING, PNG, startImages, withImages } from './images-server.ts';

const URL = 'http://localhost:8080/v1';

/** What its error says. */
function refused(options: unknown): string {
  try {
    // The cast: a host may not be type-checked.
    imageGeneration(options as ImageGenerationOptions);
    return 'accepted';
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return error.message.replace(/^imageGeneration: /, '');
  }
}

describe('imageGeneration', () => {
  it.each([
    [{}, 'baseURL must be an http(s) URL, got undefined'],
    [{ baseURL: undefined }, 'baseURL must be an http(s) URL, got undefined'],
    [{ baseURL: 7 }, 'baseURL must be a text, got 7'],
    [{ baseURL: 'localhost:8080' }, 'baseURL must be an http(s) URL, got another text'],
    [{ baseURL: 'ftp://sk-1@host' }, 'baseURL must be an http(s) URL, got another text'],
    [{ baseURL: 'http://u:p@host' }, 'baseURL must hold no credentials; use apiKey or headers'],
    [{ baseURL: `${URL}/images/generations` }, "baseURL must not have the endpoint '/images/generations' in it"],
    [
      { baseURL: URL, apiKey: 'a\nb' },
      'apiKey must be a text that an HTTP header can carry, got one that is not, which may be secret',
    ],
    [
      { baseURL: URL, headers: { a: 7 } },
      'headers must be an object of texts that HTTP headers can carry, got one that is not, which may be secret',
    ],
    [{ baseURL: URL, model: '' }, "model must be a text, got ''"],
    [{ baseURL: URL, edits: 'no' }, "edits must be true or false, got 'no'"],
    [{ baseURL: URL, imageBytes: 0 }, 'imageBytes must be a positive whole number, got 0'],
    [
      { baseURL: URL, timeoutMs: 1.5 },
      'timeoutMs must be a whole number of milliseconds from 1 to 2147483647, got 1.5',
    ],
    [{ baseURL: URL, modelSeesImages: 1 }, 'modelSeesImages must be true or false, got 1'],
    [
      { baseURL: URL, size: '1x1' },
      "unknown option 'size'; known are baseURL, apiKey, headers, model, edits, imageBytes, timeoutMs, modelSeesImages",
    ],
    [{ baseURL: URL, apiKey: undefined, model: undefined, edits: undefined }, 'accepted'],
  ])('[X-13] refuses bad options by name: %j', (options, message) => {
    expect(refused(options)).toBe(message);
  });

  it('[X-13] sends the host’s own headers, below a path that may end in a slash, with its query', async () => {
    const images = await startImages();
    await withImages(
      async (app) => {
        app.fake.reply(calls(['call_0', 'image_generation', '{"prompt":"A cat."}']), says('Done.'));
        await fetch(`${app.url}/responses`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'm', input: 'Go.', ...ASKING }),
        });
        expect(images.requests).toMatchObject([
          { path: '/v1/images/generations?api-version=1', headers: { 'x-team': 'art', authorization: 'Basic abcd' } },
        ]);
      },
      { baseURL: `${images.url}/?api-version=1`, headers: { 'X-Team': 'art', Authorization: 'Basic abcd' } },
    );
    await images.close();
  });
});

describe('a provider of the host’s own', () => {
  it.each([
    [{ result: PNG, details: {} }, 'completed'],
    [7, 'failed'],
    [{ result: '' }, 'failed'],
    [{ result: PNG }, 'failed'],
    [undefined, 'failed'],
  ])('[X-13] may serve image_generation, with an image that is one: %j', async (image, status) => {
    const tools: ToolProvider = {
      name: 'own',
      list: () => [{ server: 'own', name: 'draw', requestedBy: 'image_generation' }],
      // The cast: not every provider is type-checked.
      call: () => Promise.resolve({ content: 'Made.', image: image as never }),
    };
    const { response } = await played({ tools }, [calls(['call_0', 'draw']), says('Done.')], ASKING);
    expect(response.output[0]).toMatchObject({ type: 'image_generation_call', status });
  });
});
