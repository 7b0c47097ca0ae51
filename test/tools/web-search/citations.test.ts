/** Citations of found pages in answers over HTTP. */

import { played, says, typesOf, withTools } from '../../engine/tools/support.ts';
import { post } from '../../support/responses-client.ts';
import { ASKING, searches, searching } from './support.ts';

const ANSWER = 'As 🧑 [One](https://one.example.com/a) says, and https://two.example.org/b too.';
const CITED = [
  { type: 'url_citation', url: 'https://one.example.com/a', title: 'One', start_index: 6, end_index: 38 },
  { type: 'url_citation', url: 'https://two.example.org/b/', title: 'Two', start_index: 49, end_index: 74 },
];

describe('the answer after a search', () => {
  it('[B-41] has citations of the pages that it links to, reported before its text is done', async () => {
    const { tools } = searching();
    const { response, events } = await played({ tools }, [searches('pages'), says(ANSWER)], ASKING);
    const [, message] = response.output;
    expect(message).toMatchObject({ content: [{ text: ANSWER, annotations: CITED }] });
    expect(CITED.map(({ start_index, end_index }) => ANSWER.slice(start_index, end_index))).toEqual([
      '[One](https://one.example.com/a)',
      'https://two.example.org/b',
    ]);
    const last = typesOf(events).slice(-6);
    expect(last).toEqual([
      'output_text.annotation.added',
      'output_text.annotation.added',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'completed',
    ]);
  });

  it('[B-41] has none where nothing was searched in this response', async () => {
    const { tools } = searching();
    const { response } = await played({ tools }, [says(ANSWER)], ASKING);
    expect(response.output[0]).toMatchObject({ content: [{ annotations: [] }] });
  });

  it('[B-41] has them over several searches', async () => {
    let count = 0;
    const { tools } = searching(() => {
      count += 1;
      return [{ url: `https://e.com/${count}`, title: `${count}`, text: '' }];
    });
    await withTools({ tools }, async (app) => {
      app.fake.reply(searches('one'), searches('two'), says('https://e.com/1 https://e.com/2 https://e.com/3'));
      const { output } = JSON.parse((await post(app.url, ASKING)).text);
      expect(output[2].content[0].annotations.map(({ title }: { title: string }) => title)).toEqual(['1', '2']);
    });
  });
});
