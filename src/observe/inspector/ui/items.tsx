/** The items of a response, as its client sees them. */
import type { JsonObject } from '../../../protocol/record.ts';
import type { responseView } from '../server/response-view.ts';
import { formatCount, formatMs, parseObject, pretty, showHidden } from './parts/format.tsx';
import { Pager } from './parts/pager.tsx';
import { Box, Fold, Text } from './parts/parts.tsx';

type Response = ReturnType<typeof responseView>;
type Item = Response['itemList'][number];

const PAGE = 200;

export function ItemList({
  response,
  onPage,
}: {
  readonly response: Response;
  readonly onPage: (first: number) => void;
}) {
  const { itemList, itemCount, firstItem } = response;
  return (
    <>
      <h2>
        Items <span class="count">{formatCount(itemCount)}</span>
      </h2>
      {itemCount === 0 && <p class="faint">{response.status === 'running' ? 'None yet.' : 'None.'}</p>}
      <ol class="items" start={firstItem}>
        {itemList.map((item) => (
          <li key={item.index} id={`item-${item.index}`}>
            <ItemView item={item} />
          </li>
        ))}
      </ol>
      <Pager first={firstItem} shown={itemList.length} all={itemCount} size={PAGE} onPage={onPage} />
    </>
  );
}

/** What an item is, for its colour. */
function itemKind(type: string): string {
  if (type === 'message' || type === 'reasoning') return type;
  return type.includes('approval') || type === 'compaction' ? 'mark' : 'tool';
}

function ItemView({ item }: { readonly item: Item }) {
  const { start, end, deltas } = item;
  const took = end === null ? 'running' : `for ${formatMs(end - start)}`;
  const deltaCount = `${formatCount(deltas)} ${deltas === 1 ? 'delta' : 'deltas'}`;
  const fields = parseObject(item.json) ?? {};
  const name = [fields.server_label, fields.name].filter((each) => typeof each === 'string').join(' · ');
  return (
    <article class={`entry ${itemKind(item.type)} ${item.end === null ? 'growing' : ''}`} tabIndex={-1}>
      <header>
        <strong>{showHidden(item.type)}</strong> {name !== '' && <span class="mono">{showHidden(name)}</span>}{' '}
        {typeof fields.status === 'string' && fields.status !== 'completed' && (
          <span class="error">{showHidden(fields.status)}</span>
        )}
        <span class="when">{`at ${formatMs(start)}, ${took}${deltas > 0 ? `, ${deltaCount}` : ''}`}</span>
      </header>
      {item.end === null ? <Text of={item.growing} class="body" /> : <Content fields={fields} />}
      {item.json !== '' && (
        <Fold title="JSON">
          {() => <Box of={pretty(item.json)} cut={item.cut} label={`JSON of item ${item.index}`} />}
        </Fold>
      )}
    </article>
  );
}

/** Longer texts are shown whole only in the JSON. */
const MAX_TEXT = 8000;

function Content({ fields }: { readonly fields: JsonObject }) {
  const parts = [fields.content, fields.summary].flatMap((list) => (Array.isArray(list) ? list : []));
  const texts = parts.map((part: JsonObject | null) => part?.text ?? part?.refusal);
  const text = texts.filter((each) => typeof each === 'string' && each !== '').join('\n\n');
  const args = fields.arguments ?? fields.input ?? fields.code;
  const { output, error } = fields;
  return (
    <>
      {text !== '' && <Text of={shortenText(text)} class="body" />}
      {typeof args === 'string' && args !== '' && <Labelled label="arguments" text={pretty(args)} />}
      {typeof output === 'string' && <Labelled label="output" text={pretty(output)} />}
      {error !== undefined && error !== null && <Labelled label="error" text={pretty(JSON.stringify(error))} isBad />}
    </>
  );
}

interface LabelledProps {
  readonly label: string;
  readonly text: string;
  readonly isBad?: boolean;
}

function Labelled({ label, text, isBad = false }: LabelledProps) {
  return (
    <div class={isBad ? 'labelled error' : 'labelled'}>
      <span class="label">{label}</span>
      <Text of={shortenText(text)} class="body mono" />
    </div>
  );
}

function shortenText(text: string): string {
  return text.length <= MAX_TEXT
    ? text
    : `${text.slice(0, MAX_TEXT)}… (${formatCount(text.length - MAX_TEXT)} more in the JSON)`;
}
