/** The list of responses, live, with filters. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { listView } from '../server/list-view.ts';
import { useData } from './data.tsx';
import { bytes, count, dollars, ms, short, time, visible } from './format.tsx';
import { Scroll, Status, Text, Waiting } from './parts.tsx';

type List = ReturnType<typeof listView>;
type Row = List['rows'][number];

const STATUSES = ['running', 'completed', 'incomplete', 'failed', 'cancelled', 'refused'];
const NO_FILTER = { q: '', status: '', model: '', tenant: '' };

export function Requests({ version }: { readonly version: number }) {
  const [filter, setFilter] = useState(NO_FILTER);
  const [pages, setPages] = useState<readonly number[]>([]);
  const [pausedAt, setPausedAt] = useState<number>();
  const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== ''));
  const before = pages.at(-1);
  if (before !== undefined) query.set('before', String(before));
  const { data, error } = useData<List>(`api/responses?${query}`, pausedAt ?? version);
  const change = (name: string, value: string) => {
    setPages([]);
    setFilter({ ...filter, [name]: value });
  };
  const last = data?.rows.at(-1)?.number;
  return (
    <>
      <h1>Requests</h1>
      <Filters filter={filter} list={data} onChange={change} />
      <div class="bar">
        <span role="status">{data ? summary(data, filter) : ''}</span>
        <button
          type="button"
          aria-pressed={pausedAt !== undefined}
          onClick={() => setPausedAt(pausedAt ? undefined : version)}
        >
          Pause
        </button>
      </div>
      {data ? (
        data.rows.length > 0 ? (
          <Table rows={data.rows} />
        ) : (
          <Empty isFiltered={query.size > 0} />
        )
      ) : (
        <Waiting error={error} />
      )}
      <nav class="bar" aria-label="Pages">
        <button type="button" disabled={pages.length === 0} onClick={() => setPages(pages.slice(0, -1))}>
          Newer
        </button>
        <button
          type="button"
          disabled={!data?.more || last === undefined}
          onClick={() => last && setPages([...pages, last])}
        >
          Older
        </button>
      </nav>
    </>
  );
}

function summary({ found, kept, evicted, bytes: size }: List, filter: object): string {
  const isFiltered = Object.values(filter).some(Boolean);
  const gone = evicted > 0 ? `, ${count(evicted)} older ones dropped` : '';
  return `${isFiltered ? `${count(found)} of ` : ''}${count(kept)} kept (${bytes(size)})${gone}`;
}

function Empty({ isFiltered }: { readonly isFiltered: boolean }) {
  return (
    <p class="empty">
      {isFiltered ? 'No response matches.' : 'No request has arrived yet. Send one, and it appears here while it runs.'}
    </p>
  );
}

interface FilterProps {
  readonly filter: typeof NO_FILTER;
  readonly list: List | undefined;
  readonly onChange: (name: string, value: string) => void;
}

function Filters({ filter, list, onChange }: FilterProps) {
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      search.current?.focus();
    };
    addEventListener('keydown', focus);
    return () => removeEventListener('keydown', focus);
  }, []);
  const select = (name: keyof typeof NO_FILTER, choices: readonly string[]) => (
    <label>
      <span>{name}</span>
      <select value={filter[name]} onChange={({ currentTarget }) => onChange(name, currentTarget.value)}>
        <option value="">all</option>
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {short(choice, 40)}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <search>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <label class="grow">
          <span>search</span>
          <input
            ref={search}
            type="search"
            placeholder="text, id, tool, error …   ( / )"
            value={filter.q}
            onInput={({ currentTarget }) => onChange('q', currentTarget.value)}
          />
        </label>
        {select('status', STATUSES)}
        {select('model', list?.models ?? [])}
        {select('tenant', list?.tenants ?? [])}
      </form>
    </search>
  );
}

/** The arrow keys move from line to line. */
function moveFocus(event: KeyboardEvent): void {
  const step =
    event.key === 'ArrowDown' || event.key === 'j' ? 1 : event.key === 'ArrowUp' || event.key === 'k' ? -1 : 0;
  const links = [...document.querySelectorAll<HTMLElement>('tbody a.line')];
  const at = links.indexOf(document.activeElement as HTMLElement);
  if (step === 0 || at < 0) return;
  event.preventDefault();
  links[at + step]?.focus();
}

const HEADS = [
  'Time',
  'Status',
  'Model',
  'Request',
  'Tenant',
  'Tokens in',
  'Tokens out',
  'Cost',
  'First token',
  'Duration',
  'Tools',
];
const NUMERIC = new Set(['Tokens in', 'Tokens out', 'Cost', 'First token', 'Duration']);

function Table({ rows }: { readonly rows: readonly Row[] }) {
  return (
    <Scroll class="scroll" label="List of requests">
      <table class="requests" onKeyDown={moveFocus}>
        <thead>
          <tr>
            {HEADS.map((head) => (
              <th key={head} scope="col" class={NUMERIC.has(head) ? 'number' : ''}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Line key={row.number} row={row} />
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Line({ row }: { readonly row: Row }) {
  return (
    <tr class={row.status}>
      <td class="mono">{time(row.at)}</td>
      <td>
        <Status of={row.status} />
      </td>
      <td class="short">{row.model === '' ? '–' : visible(row.model)}</td>
      <td class="wide">
        <a class="line" href={`#/responses/${row.number}`}>
          <Text of={row.asked || row.problem || row.id || row.requestId} />
        </a>{' '}
        {row.error && <span class="error">{visible(row.error)}</span>}
        <span class="faint nowrap"> {row.api}</span>
      </td>
      <td class="short mono" title={visible(row.tenant)}>
        {row.tenant === '' ? '–' : short(row.tenant, 14)}
      </td>
      <td class="number">{count(row.inputTokens)}</td>
      <td class="number">{count(row.outputTokens)}</td>
      <td class="number">{dollars(row.cost)}</td>
      <td class="number">{ms(row.firstOutput)}</td>
      <td class="number">{row.duration === null ? `${ms(row.elapsed)} …` : ms(row.duration)}</td>
      <td class={row.tools.length > 0 ? 'short' : 'short none'}>
        {row.tools.length > 0 ? visible(row.tools.join(', ')) : '–'}
        {row.toolFailures > 0 && <span class="error"> {row.toolFailures} failed</span>}
      </td>
    </tr>
  );
}
