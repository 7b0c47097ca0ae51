/** The servers of tools, and the model servers. */
import type { toolView, upstreamView } from '../server/part-views.ts';
import { useData } from './data.tsx';
import { count, ms, pretty, time, visible } from './format.tsx';
import { Box, Fold, Scroll, Status, Text, Waiting } from './parts.tsx';

type Tools = Awaited<ReturnType<typeof toolView>>;
type Server = Tools['servers'][number];
type Upstreams = Awaited<ReturnType<typeof upstreamView>>;
type Failure = Upstreams['upstreams'][number]['lastError'];

export function ToolsPage({ version }: { readonly version: number }) {
  const { data, error } = useData<Tools>('api/tools', version);
  return (
    <>
      <h1>Tools</h1>
      {!data && <Waiting error={error} />}
      {data?.choosesTools && (
        <p class="faint">A router chooses its tools by request: those that were called are listed.</p>
      )}
      {data?.servers.length === 0 && <p class="empty">The observed routers run no tools.</p>}
      {data?.servers.map((server) => (
        <ServerView key={server.label} server={server} />
      ))}
    </>
  );
}

function ServerView({ server }: { readonly server: Server }) {
  return (
    <section aria-label={visible(server.label)}>
      <h2>
        {visible(server.label)} {server.state && <Status of={server.state} />}{' '}
        {server.protocol && <span class="faint small">MCP {visible(server.protocol)}</span>}
      </h2>
      {server.error && (
        <p class="problem">
          <Text of={server.error} />
        </p>
      )}
      <Scroll class="scroll" label={`Tools of ${server.label}`}>
        <table>
          <thead>
            <tr>
              <th scope="col">Tool</th>
              <CountHeads />
            </tr>
          </thead>
          <tbody>
            {server.tools.map((tool) => (
              <tr key={tool.name}>
                <th scope="row" class="wide">
                  <span class="mono">{visible(tool.name)}</span>
                  {tool.deferred && <span class="faint"> deferred</span>}
                  {tool.requestedBy && <span class="faint"> for {visible(tool.requestedBy)}</span>}
                  {!tool.isOffered && <span class="faint"> not offered now</span>}
                  {(tool.description !== '' || tool.schema !== '') && (
                    <Fold title={<Text of={tool.description.slice(0, 120) || 'Schema'} class="faint" />}>
                      {() => (
                        <>
                          <Text of={tool.description} class="body" />
                          {tool.schema !== '' && (
                            <Box of={pretty(tool.schema)} label={`Schema of ${server.label} ${tool.name}`} />
                          )}
                        </>
                      )}
                    </Fold>
                  )}
                </th>
                <Counts of={tool} />
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

function CountHeads() {
  return (
    <>
      <th scope="col" class="number">
        Calls
      </th>
      <th scope="col" class="number">
        Failed
      </th>
      <th scope="col" class="number">
        Mean
      </th>
      <th scope="col" class="number">
        Longest
      </th>
      <th scope="col">Last failure</th>
    </>
  );
}

interface Counted {
  readonly calls: number;
  readonly failures: number;
  readonly mean: number | null;
  readonly longest: number | null;
  readonly lastError: Failure;
}

function Counts({ of: { calls, failures, mean, longest, lastError } }: { readonly of: Counted }) {
  return (
    <>
      <td class="number">{count(calls)}</td>
      <td class={failures > 0 ? 'number error' : 'number'}>{count(failures)}</td>
      <td class="number">{ms(mean)}</td>
      <td class="number">{ms(longest)}</td>
      <td>
        {lastError ? (
          <>
            <span class="mono">{time(lastError.at)}</span> {visible(lastError.code)}{' '}
            <Text of={lastError.message.slice(0, 200)} class="faint" />
          </>
        ) : (
          '–'
        )}
      </td>
    </>
  );
}

export function UpstreamsPage({ version }: { readonly version: number }) {
  const { data, error } = useData<Upstreams>('api/upstreams', version);
  return (
    <>
      <h1>Upstreams</h1>
      {!data && <Waiting error={error} />}
      {data?.upstreams.length === 0 && <p class="empty">No upstream is observed: give one to observe().</p>}
      {data?.upstreams.map((upstream) => (
        <section
          key={`${upstream.name} ${upstream.origin}`}
          aria-label={visible(`${upstream.name} ${upstream.origin ?? ''}`)}
        >
          <h2>
            {visible(upstream.name)} <Status of={upstream.health} />{' '}
            <span class="faint small mono">{visible(upstream.origin ?? '')}</span>
          </h2>
          <Scroll class="scroll" label={`Calls of ${upstream.name} ${upstream.origin ?? ''}`}>
            <table>
              <thead>
                <tr>
                  <th scope="col">Host</th>
                  <CountHeads />
                  <th scope="col" class="number">
                    First output
                  </th>
                  <th scope="col" class="number">
                    Retries
                  </th>
                </tr>
              </thead>
              <tbody>
                <tr>
                  <th scope="row" class="mono">
                    {upstream.hosts.map(({ host, calls }) => `${visible(host)} (${count(calls)})`).join(', ') || '–'}
                  </th>
                  <Counts of={upstream} />
                  <td class="number">{ms(upstream.firstOutput)}</td>
                  <td class="number">{count(upstream.retries)}</td>
                </tr>
              </tbody>
            </table>
          </Scroll>
          {upstream.status && (
            <Fold title="Its own status" isOpen>
              {() => (
                <Box of={pretty(upstream.status ?? '')} label={`Status of ${upstream.name} ${upstream.origin ?? ''}`} />
              )}
            </Fold>
          )}
        </section>
      ))}
    </>
  );
}
