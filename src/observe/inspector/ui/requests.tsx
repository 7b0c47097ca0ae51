/** The list of responses, live, with filters. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { listView } from '../server/list-view.ts';
import { Activity, Overview } from './overview.tsx';
import { useData } from './parts/data.tsx';
import {
  formatBytes,
  formatCount,
  formatDollars,
  formatMs,
  formatTime,
  shortenId,
  showHidden,
} from './parts/format.tsx';
import { Scroll, Status, Tenant, Text, Waiting } from './parts/parts.tsx';

type List = ReturnType<typeof listView>;
type Row = List['rows'][number];

const STATUSES = ['running', 'completed', 'incomplete', 'failed', 'cancelled', 'refused'];
const NO_FILTER = { q: '', status: '', model: '', tenant: '' };

export function Requests({ version }: { readonly version: number }) {
  const [filter, setFilter] = useState(NO_FILTER);
  const [pages, setPages] = useState<readonly number[]>([]);
  const [pausedAt, setPausedAt] = useState<number>();
  const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== ''));
  const isFiltered = query.size > 0;
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
      <div class="title">
        <h1>Requests</h1>
        {data && <span class="faint">{summary(data, isFiltered)}</span>}
        <button
          type="button"
          aria-pressed={pausedAt !== undefined}
          onClick={() => setPausedAt(pausedAt === undefined ? version : undefined)}
        >
          {pausedAt === undefined ? 'Pause' : 'Paused'}
        </button>
      </div>
      {/* Announced when a filter changes what is found, not whenever a request arrives. */}
      <span class="hidden" role="status">
        {data && isFiltered ? `${formatCount(data.found)} found` : ''}
      </span>
      {data && data.kept > 0 && <Overview of={data.summary} />}
      <Filters filter={filter} list={data} onChange={change} />
      {data && data.found > 1 && <Activity of={data.summary.activity} />}
      {data && data.rows.length > 0 && <Table rows={data.rows} />}
      {data?.rows.length === 0 && (
        <p class="empty">
          {isFiltered
            ? 'No response matches.'
            : 'No request has arrived yet. Send one, and it appears here while it runs.'}
        </p>
      )}
      {!data && <Waiting error={error} />}
      {data && (pages.length > 0 || data.more) && (
        <nav class="bar" aria-label="Pages">
          <button type="button" disabled={pages.length === 0} onClick={() => setPages(pages.slice(0, -1))}>
            Newer
          </button>
          <button
            type="button"
            disabled={!data.more || last === undefined}
            onClick={() => last && setPages([...pages, last])}
          >
            Older
          </button>
        </nav>
      )}
    </>
  );
}

function summary({ found, kept, evicted, bytes: size }: List, isFiltered: boolean): string {
  const gone = evicted > 0 ? `, ${formatCount(evicted)} older ones dropped` : '';
  return `${isFiltered ? `${formatCount(found)} of ` : ''}${formatCount(kept)} kept (${formatBytes(size)})${gone}`;
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
      <span class="hidden">{name}</span>
      <select
        value={filter[name]}
        class={filter[name] === '' ? '' : 'is-set'}
        onChange={({ currentTarget }) => onChange(name, currentTarget.value)}
      >
        <option value="">any {name}</option>
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {shortenId(choice, 40)}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <search>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <label class="grow">
          <span class="hidden">search</span>
          <input
            ref={search}
            type="search"
            placeholder="Search texts, ids, tools, errors   ( / )"
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

/** The columns, with the classes of their cells. */
const COLUMNS = [
  ['Time', 'time'],
  ['Status', ''],
  ['Request', 'wide'],
  ['Model', ''],
  ['Tenant', ''],
  ['Tokens in', 'number'],
  ['out', 'number'],
  ['Cost', 'number cost'],
  ['First token', 'number'],
  ['Duration', 'duration'],
  ['Tools', 'tools'],
] as const;

function Table({ rows }: { readonly rows: readonly Row[] }) {
  const has = { cost: rows.some(({ cost }) => cost !== null), tools: rows.some(({ tools }) => tools.length > 0) };
  const longest = Math.max(1, ...rows.map(({ duration, elapsed }) => duration ?? elapsed ?? 0));
  const lacks = `${has.cost ? '' : 'no-cost'} ${has.tools ? '' : 'no-tools'}`;
  return (
    <Scroll class="scroll card" label="List of requests">
      <table class={`requests ${lacks}`} onKeyDown={moveFocus}>
        <thead>
          <tr>
            {COLUMNS.map(([head, name]) => (
              <th key={head} scope="col" class={name}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Line key={row.number} row={row} longest={longest} />
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Line({ row, longest }: { readonly row: Row; readonly longest: number }) {
  return (
    <tr class={row.status}>
      <td class="time">{formatTime(row.at)}</td>
      <td class="state">
        <Status of={row.status} />
      </td>
      <td class="wide">
        <a class="line" href={`#/responses/${row.number}`}>
          <Text of={row.asked || row.problem || row.id || row.requestId} />
        </a>
        <span class="under">
          {row.error && <span class="error">{showHidden(row.error)} </span>}
          {row.api}
        </span>
      </td>
      <td class="short model" title={showHidden(row.model)}>
        {row.model === '' ? '–' : showHidden(row.model)}
      </td>
      <td class="of">
        <Tenant of={row.tenant} />
      </td>
      <td class="number">{formatCount(row.inputTokens)}</td>
      <td class="number">{formatCount(row.outputTokens)}</td>
      <td class="number cost">{formatDollars(row.cost)}</td>
      <td class="number">{formatMs(row.firstOutput)}</td>
      <td class="duration">
        <Duration row={row} longest={longest} />
      </td>
      <td class={row.tools.length > 0 ? 'tools short' : 'tools none'} title={row.tools.map(showHidden).join(', ')}>
        {row.tools.length > 0 ? showHidden(row.tools.join(', ')) : '–'}
        {row.toolFailures > 0 && <span class="error"> {row.toolFailures} failed</span>}
      </td>
    </tr>
  );
}

/** The time, and a bar to the scale of the page: light until the first token. */
function Duration({ row, longest }: { readonly row: Row; readonly longest: number }) {
  const whole = row.duration ?? row.elapsed ?? 0;
  const first = Math.min(row.firstOutput ?? whole, whole);
  const width = (value: number) => Math.max((value / longest) * 100, 0.5);
  return (
    <>
      <span class="number">{row.duration === null ? `${formatMs(row.elapsed)} …` : formatMs(row.duration)}</span>
      <svg class="bar-of-time" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        <rect class="after" width={width(whole)} height="4" rx="1" />
        <rect class="before" width={width(first)} height="4" rx="1" />
      </svg>
    </>
  );
}
