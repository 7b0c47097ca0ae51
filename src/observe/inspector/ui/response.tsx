/** One response: its timeline, its items, and what the model server was sent. */
import { useState } from 'preact/hooks';
import { quoteForShell } from '../../../protocol/shell-text.ts';
import type { responseView } from '../server/response-view.ts';
import { Calls } from './calls.tsx';
import { ItemList } from './items.tsx';
import { useData } from './parts/data.tsx';
import { formatCount, formatDollars, formatMs, formatTime, pretty, showHidden } from './parts/format.tsx';
import { Box, Copy, Facts, Fold, Stats, Status, Tenant, Text, Waiting } from './parts/parts.tsx';
import { Timeline } from './timeline.tsx';
import { TracesOfResponse } from './traces.tsx';

type Response = ReturnType<typeof responseView>;

interface Props {
  readonly number: string;
  readonly version: number;
  /** The path of the API, if the playground is on. */
  readonly apiPath: string | null;
}

export function ResponsePage({ number, version, apiPath }: Props) {
  const [place, setPlace] = useState({ items: 0, calls: 0 });
  const [open, setOpen] = useState<readonly number[]>();
  const [ended, setEnded] = useState<number>();
  const texts = open === undefined ? '' : `&texts=${open}`;
  const path = `api/responses/${number}?items=${place.items}&calls=${place.calls}${texts}`;
  // What has ended does not change any more: other responses are no reason to load it again.
  const { data, error } = useData<Response>(path, ended ?? version);
  if (data && data.status !== 'running' && ended === undefined) setEnded(data.version);
  if (data && open === undefined) setOpen(data.callCount === 1 ? [0] : []);
  if (!data) return <Waiting error={error} />;
  const toggle = (call: number, isOpen: boolean) =>
    setOpen((before = []) => [...before.filter((each) => each !== call), ...(isOpen ? [call] : [])]);
  return (
    <>
      <p class="crumb">
        <a href="#/">Requests</a> <span aria-hidden="true">/</span> {number}
      </p>
      <div class="title">
        <h1>
          <Text of={data.asked || data.problem || 'Response'} />
        </h1>
        <Status of={data.status} />
      </div>
      {error && <Waiting error={error} />}
      {data.failure && (
        <p class="problem">
          <strong>
            {showHidden(data.failure.code)} ({data.failure.status})
          </strong>{' '}
          <Text of={data.failure.message} />
        </p>
      )}
      <Summary response={data} />
      <Actions response={data} apiPath={apiPath} />
      <h2>Timeline</h2>
      <Timeline response={data} />
      {(data.itemCount > 0 || data.api.startsWith('responses')) && (
        <ItemList response={data} onPage={(items) => setPlace({ ...place, items })} />
      )}
      <h2>Request of the client</h2>
      {data.body.text === '' ? (
        <p class="faint">Its body was not kept.</p>
      ) : (
        <Fold class="card" title={`Body, ${formatCount(data.body.text.length)} characters`}>
          {() => <Box of={pretty(data.body.text)} cut={data.body.cut} label="Body of the client's request" />}
        </Fold>
      )}
      <Calls response={data} open={open ?? []} onToggle={toggle} onPage={(calls) => setPlace({ ...place, calls })} />
      <Marks response={data} />
      <TracesOfResponse number={number} version={version} />
    </>
  );
}

function Summary({ response }: { readonly response: Response }) {
  const { usage, duration, elapsed, upstreamModel, model } = response;
  const answeredBy = upstreamModel && upstreamModel !== model ? ` → ${upstreamModel}` : '';
  const cached = usage?.input_tokens_details.cached_tokens ?? 0;
  const reasoning = usage?.output_tokens_details.reasoning_tokens ?? 0;
  return (
    <>
      <Stats
        of={[
          { name: 'Duration', value: duration === null ? `${formatMs(elapsed)} …` : formatMs(duration) },
          { name: 'First token', value: formatMs(response.firstOutput) },
          {
            name: 'Tokens in',
            value: formatCount(usage?.input_tokens ?? null),
            note: cached > 0 ? `${formatCount(cached)} cached` : undefined,
          },
          {
            name: 'Tokens out',
            value: formatCount(usage?.output_tokens ?? null),
            note: reasoning > 0 ? `${formatCount(reasoning)} reasoning` : undefined,
          },
          { name: 'Cost', value: formatDollars(response.cost) },
          { name: 'Events', value: formatCount(response.events) },
        ]}
      />
      <Facts
        of={[
          ['Model', <Text of={`${model || '–'}${answeredBy}`} />],
          ['Tenant', <Tenant of={response.tenant} />],
          ['API', response.api || '–'],
          ['Time', formatTime(response.at)],
          ['Response', <Text class="mono" of={response.id || '–'} />],
          ['Request id', <Text class="mono" of={response.requestId} />],
        ]}
      />
    </>
  );
}

function Actions({ response, apiPath }: { readonly response: Response; readonly apiPath: string | null }) {
  const { body, number, status, api } = response;
  const curl = () => {
    // The cast: the server knows these APIs, and names one of each request whose body it has.
    const [path, ...headers] = APIS[api.split(' ')[0] as keyof typeof APIS];
    return [
      `curl ${quoteForShell(`${location.origin}${apiPath ?? '/v1'}/${path}`)}`,
      `-H 'content-type: application/json'`,
      ...headers,
      `-d ${quoteForShell(body.text)}`,
    ].join(' \\\n  ');
  };
  return (
    <div class="bar">
      {apiPath && body.cut === 0 && body.text !== '' && (
        <a class="button primary" href={`#/playground?from=${number}`}>
          Replay with a change
        </a>
      )}
      {body.text !== '' && body.cut === 0 && <Copy of={curl}>Copy as curl</Copy>}
      {body.text !== '' && body.cut > 0 && <span class="faint">The body was cut, so there is no curl for it.</span>}
      {status !== 'refused' && api.startsWith('responses') && (
        <a class="button" href={`#/conversations?of=${number}`}>
          Conversation
        </a>
      )}
    </div>
  );
}

/** Each API's path, and the headers that its clients send. */
const APIS = {
  responses: ['responses', '-H "authorization: Bearer $API_KEY"'],
  chat: ['chat/completions', '-H "authorization: Bearer $API_KEY"'],
  messages: ['messages', '-H "x-api-key: $API_KEY"', "-H 'anthropic-version: 2023-06-01'"],
} as const;

function Marks({ response }: { readonly response: Response }) {
  const entries = response.marks.filter(({ kind }) => kind !== 'heartbeat');
  const heartbeats = response.marks.length - entries.length;
  if (entries.length === 0 && heartbeats === 0 && response.dropped === 0) return null;
  return (
    <>
      <h2>Notes and approvals</h2>
      <ul class="plain card">
        {entries.map(({ kind, at, text }) => (
          <li key={`${at} ${text}`}>
            <span class="when">{formatMs(at)}</span> <strong>{kind}</strong> <Text of={text} />
          </li>
        ))}
        {heartbeats > 0 && <li class="faint">{formatCount(heartbeats)} heartbeats</li>}
        {response.dropped > 0 && <li class="faint">{formatCount(response.dropped)} entries were not kept.</li>}
      </ul>
    </>
  );
}
