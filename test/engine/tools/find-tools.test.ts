/** The search over names and descriptions: what it finds, in which order, and how long it takes. */
import { findTools } from '../../../src/engine/tools/find-tools.ts';

const TOOLS = [
  ['files', 'read_file', 'Reads a file from the disk.'],
  ['files', 'writeFile', 'Writes text to a file.'],
  ['mail', 'send', 'Sends an e-mail with attachments.'],
  ['mail', 'search_threads', 'Finds threads by their words.'],
  ['weather', 'forecast', 'The weather of the next days in a city.'],
  ['wetter', 'vorhersage', '東京の天気を調べる'],
] as const;

const entryOf = ([server, name, description]: readonly [string, string, string]) => ({
  tool: { server, name, description },
});

function found(query: string, most = 3): string {
  const entries = TOOLS.map(entryOf);
  return findTools(entries, query, most)
    .map(({ tool }) => tool.name)
    .join(' ');
}

describe('the search for tools', () => {
  it.each([
    ['read file', 'read_file writeFile'],
    ['WRITE A FILE', 'writeFile read_file'],
    ['files', 'read_file writeFile'],
    ['email', ''],
    ['e-mail', 'send search_threads'],
    ['weather in the city of Rome', 'forecast'],
    ['attach', 'send'],
    ['天気', 'vorhersage'],
    ['mail', 'send search_threads'],
    ['read', 'read_file'],
    ['spaceship', ''],
    ['', ''],
    ['._-', ''],
  ])('[T-07] finds for %j: %s', (query, expected) => {
    expect(found(query)).toBe(expected);
  });

  it('[T-07] keeps the order of equals, and gives no more than it is asked for', () => {
    expect([found('file', 1), found('mail files', 9)]).toEqual([
      'read_file',
      'read_file writeFile send search_threads',
    ]);
  });
});
