/** A hosted tool is known in few files besides its own: the items, the table of kinds, and what it has in common with others. */
import { sourceFiles, sourceText } from './source-graph.ts';

/** The files that are the tool's own. */
const OWN: Readonly<Record<string, RegExp>> = {
  code_interpreter: /^tools\/code-interpreter\/|tool-calls\/code-interpreter-call/,
  image_generation: /^tools\/image-generation\/|tool-calls\/image-generation-call/,
  file_search: /^vector-stores\.ts|^apis\/vector-stores\/|^engine\/indexing\/|tool-calls\/file-search-call/,
  // Other APIs have a search of the web as well, each in its own form: they are translated where those APIs are spoken.
  web_search: /^tools\/web-search\/|^upstreams\/|^apis\/messages\/|tool-calls\/web-search-call|search-engine\.ts/,
};

it.each(Object.entries(OWN))('[Q-08] %s is known in at most four files besides its own', (tool, own) => {
  const named = sourceFiles.filter((file) => sourceText(file).includes(tool));
  const others = named.filter((file) => !own.test(file));
  expect([named.some((file) => own.test(file)), others.length <= 4 || others]).toEqual([true, true]);
});

it('[Q-08] item types of hosted tools are compared in no room below the APIs but their own', () => {
  const types = /(?:=== |!== |case )'(?:web_search|file_search|code_interpreter|image_generation)_call'/;
  const comparing = sourceFiles.filter((file) => !file.startsWith('apis/') && types.test(sourceText(file)));
  expect(comparing).toEqual(['upstreams/anthropic/messages.ts', 'upstreams/responses/decoder.ts']);
});
