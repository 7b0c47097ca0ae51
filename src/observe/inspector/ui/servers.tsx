/** The model servers. */
import type { upstreamView } from '../server/part-views.ts';
import { useData } from './parts/data.tsx';
import { formatCount, formatMs, formatTime, pretty, showHidden } from './parts/format.tsx';
import { Box, Fold, Scroll, Stats, Status, Text, Waiting } from './parts/parts.tsx';

type Upstreams = Awaited<ReturnType<typeof upstreamView>>;
type Upstream = Upstreams['upstreams'][number];

export function UpstreamsPage({ version }: { readonly version: number }) {
  const { data, error } = useData<Upstreams>('api/upstreams', version);
  return (
    <>
      <div class="title">
        <h1>Upstreams</h1>
      </div>
      {!data && <Waiting error={error} />}
      {data?.upstreams.length === 0 && <p class="empty">No upstream is observed: give one to observe().</p>}
      {data?.upstreams.map((upstream) => (
        <UpstreamView key={upstreamLabel(upstream)} upstream={upstream} />
      ))}
    </>
  );
}

function upstreamLabel({ name, origin }: Upstream): string {
  return `${name} ${origin ?? ''}`.trim();
}

function UpstreamView({ upstream }: { readonly upstream: Upstream }) {
  const { name, health, origin, servers, hosts, status, lastError } = upstream;
  return (
    <section class="card" aria-label={showHidden(upstreamLabel(upstream))}>
      <header>
        <h2>{showHidden(name)}</h2> <Status of={health} /> <span class="mono faint">{showHidden(origin ?? '')}</span>
        <Recent calls={upstream.recent} />
      </header>
      <Stats
        of={[
          { name: 'Calls', value: formatCount(upstream.calls) },
          { name: 'Failed', value: formatCount(upstream.failures), isBad: upstream.failures > 0 },
          { name: 'Retries', value: formatCount(upstream.retries) },
          { name: 'First output', value: formatMs(upstream.firstOutput), note: 'mean' },
          { name: 'Duration', value: formatMs(upstream.mean), note: `longest ${formatMs(upstream.longest)}` },
        ]}
      />
      {lastError && (
        <p class="problem">
          <span class="when">{formatTime(lastError.at)}</span> <strong>{showHidden(lastError.code)}</strong>{' '}
          <Text of={lastError.message.slice(0, 300)} />
        </p>
      )}
      <div class="sides">
        {servers.length > 0 && <Servers of={servers} label={`Servers of ${upstreamLabel(upstream)}`} />}
        {hosts.length > 0 && <Hosts of={hosts} label={`Hosts of ${upstreamLabel(upstream)}`} />}
      </div>
      {status && (
        <Fold title="Its own status">
          {() => <Box of={pretty(status)} label={`Status of ${upstreamLabel(upstream)}`} />}
        </Fold>
      )}
    </section>
  );
}

const BREAKER = {
  closed: 'takes calls',
  'half-open': 'one call at a time may try it',
  open: 'rests after failures',
} as const;

function Servers({ of, label }: { readonly of: Upstream['servers']; readonly label: string }) {
  return (
    <Scroll class="scroll" label={label}>
      <table>
        <thead>
          <tr>
            <th scope="col">Server</th>
            <th scope="col">Breaker</th>
            <th scope="col" class="number">
              In flight
            </th>
            <th scope="col">Last error</th>
          </tr>
        </thead>
        <tbody>
          {of.map(({ name, state, inFlight, lastError }) => (
            <tr key={name}>
              <th scope="row">{showHidden(name)}</th>
              <td>
                <Status of={state} /> <span class="faint why">{BREAKER[state]}</span>
              </td>
              <td class="number">{formatCount(inFlight)}</td>
              <td class={lastError ? 'error' : 'faint'}>{lastError ? showHidden(lastError) : 'none'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Hosts({ of, label }: { readonly of: Upstream['hosts']; readonly label: string }) {
  return (
    <Scroll class="scroll" label={label}>
      <table>
        <thead>
          <tr>
            <th scope="col">Host</th>
            <th scope="col" class="number">
              Attempts
            </th>
            <th scope="col" class="number">
              Failed
            </th>
          </tr>
        </thead>
        <tbody>
          {of.map(({ host, attempts, failures }) => (
            <tr key={host}>
              <th scope="row" class="mono">
                {showHidden(host)}
              </th>
              <td class="number">{formatCount(attempts)}</td>
              <td class={failures > 0 ? 'number error' : 'number'}>{formatCount(failures)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

const HEIGHT = 24;
const STEP = 5;

/** The last calls: each a bar as high as it was long, and red if it failed. */
function Recent({ calls }: { readonly calls: Upstream['recent'] }) {
  if (calls.length === 0) return null;
  const longest = Math.max(1, ...calls.map(({ duration }) => duration));
  const failures = calls.filter((call) => call.failed).length;
  const label = `The last ${calls.length} calls, of which ${failures} failed`;
  return (
    <svg class="recent" viewBox={`0 0 ${60 * STEP} ${HEIGHT}`} role="img" aria-label={label}>
      {calls.map(({ at, duration, failed }, place) => {
        const height = Math.max((duration / longest) * HEIGHT, 2);
        return (
          <rect
            key={`${at} ${place}`}
            class={failed ? 'failed' : 'all'}
            x={(60 - calls.length + place) * STEP}
            y={HEIGHT - height}
            width={STEP - 1}
            height={height}
          />
        );
      })}
    </svg>
  );
}
