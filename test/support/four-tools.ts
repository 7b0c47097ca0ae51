/** The hosted tools that are items of their own, all in one conversation: this server runs two, and the client answers two. */
import { imageGeneration } from 'express-open-responses/image-generation';
import { type ImagesServer, KEY, startImages } from '../tools/image-generation/images-server.ts';
import { PAGES, SENT_RESULTS, searching } from '../tools/web-search/support.ts';

/** The tools of the client's request. */
export const FOUR_TOOLS = [
  { type: 'web_search' },
  { type: 'image_generation' },
  { type: 'shell' },
  { type: 'apply_patch' },
];

/** A call of the model: its id, the tool and the arguments as JSON. */
export type Call = readonly [id: string, name: string, args: string];

/** The calls that this server answers in the same response. */
export const SERVER_CALLS: readonly Call[] = [
  ['call_web', 'web_search', '{"query":"one"}'],
  ['call_image', 'image_generation', '{"prompt":"A cat."}'],
];

/** The calls that end the response, since the client answers them. */
export const CLIENT_CALLS: readonly Call[] = [
  ['call_shell', 'shell', '{"commands":["ls"]}'],
  ['call_patch', 'apply_patch', '{"type":"delete_file","path":"a.md"}'],
];

/** The output of that response, as `shape` summarises it. */
export const FOUR_CALLS = [
  'web_search_call completed',
  'image_generation_call completed',
  'shell_call completed',
  'apply_patch_call completed',
];

/** The client's answers. */
export const CLIENT_OUTPUTS = [
  {
    type: 'shell_call_output',
    call_id: 'call_shell',
    output: [{ stdout: 'a.md\n', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
  },
  { type: 'apply_patch_call_output', call_id: 'call_patch', status: 'completed' },
];

/** The results of all four that the model receives, in order. */
export const FOUR_RESULTS = [
  SENT_RESULTS,
  'The image was made and shown to the user.',
  'a.md\n\n[exit code 0]',
  'The patch was applied.',
];

/** Runs with the providers of the two; each search waits for `searched`. */
export async function withTwoProviders(
  run: (two: { readonly tools: ReturnType<typeof providersFor>; readonly images: ImagesServer }) => Promise<void>,
  searched: Promise<void> = Promise.resolve(),
): Promise<void> {
  const images = await startImages();
  const tools = providersFor(images, searched);
  try {
    await run({ tools, images });
  } finally {
    await Promise.all(tools.map((each) => each.close?.()));
    await images.close();
  }
}

function providersFor({ url: baseURL }: ImagesServer, searched: Promise<void>) {
  const search = searching(async () => {
    await searched;
    return PAGES;
  });
  return [search.tools, imageGeneration({ baseURL, apiKey: KEY })];
}
