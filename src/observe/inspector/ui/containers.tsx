/** The containers: what ran in them, what it printed, and their files. */
import type { containerView } from '../server/container-view.ts';
import { useData } from './parts/data.tsx';
import { formatCount, formatMs, formatTime, showHidden } from './parts/format.tsx';
import { Box, Fold, Scroll, Stats, Status, Tenant, Waiting } from './parts/parts.tsx';

type View = Awaited<ReturnType<typeof containerView>>;
type Container = View['containers'][number];
type Run = Container['runs'][number];

export function ContainersPage({ version }: { readonly version: number }) {
  const { data, error } = useData<View>('api/containers', version);
  return (
    <>
      <div class="title">
        <h1>Containers</h1>
      </div>
      {!data && <Waiting error={error} />}
      {data?.containers.length === 0 && <p class="empty">Nothing has run in a container yet.</p>}
      {data?.containers.map((container) => (
        <ContainerView key={`${container.tenant} ${container.id}`} container={container} />
      ))}
    </>
  );
}

function ContainerView({ container }: { readonly container: Container }) {
  const { id, tenant, name, status, files, runs, lastActiveAt, expiresAfterMs } = container;
  return (
    <section class="card" aria-label={showHidden(id)}>
      <header>
        <h2 class="mono">{showHidden(id)}</h2> <Status of={status} /> <Tenant of={tenant} />
        <span class="faint">{showHidden(name)}</span>
        {lastActiveAt !== null && <span class="when">last used {formatTime(lastActiveAt)}</span>}
      </header>
      <Stats
        of={[
          { name: 'Runs', value: formatCount(runs.length), note: 'kept here' },
          { name: 'Files', value: formatCount(container.fileCount) },
          { name: 'Bytes', value: formatCount(container.bytes) },
          { name: 'Memory', value: container.memoryLimit ?? 'the runtime’s' },
          { name: 'Network', value: container.network ?? '–', note: showHidden(container.domains.join(', ')) },
          { name: 'Expires after', value: expiresAfterMs === null ? '–' : formatMs(expiresAfterMs) },
        ]}
      />
      {runs.map((run) => (
        <RunView key={`${run.at} ${run.input.text}`} run={run} />
      ))}
      {files.length > 0 && <Files of={files} label={`Files of ${id}`} />}
    </section>
  );
}

const TEXTS = [
  ['stdout', 'Output'],
  ['stderr', 'Standard error'],
  ['result', 'Result'],
  ['error', 'Error'],
] as const;

function RunView({ run }: { readonly run: Run }) {
  const { kind, input, files, at, durationMs, error } = run;
  const isBad = error.text !== '' || error.cut > 0;
  return (
    <Fold
      class="tool"
      title={
        <>
          <strong>{kind}</strong> <span class="about mono">{showHidden(input.text.slice(0, 160))}</span>
          <span class="when">
            {formatTime(at)}, {formatMs(durationMs)}
            {isBad && <span class="error"> failed</span>}
          </span>
        </>
      }
    >
      {() => (
        <>
          <Box of={input.text} cut={input.cut} label={`The ${kind} that ran`} />
          {TEXTS.filter(([field]) => run[field].text !== '' || run[field].cut > 0).map(([field, title]) => (
            <section key={field}>
              <h3>{title}</h3>
              <Box of={run[field].text} cut={run[field].cut} label={title} />
            </section>
          ))}
          {files.length > 0 && <p>Files written: {showHidden(files.join(', '))}</p>}
        </>
      )}
    </Fold>
  );
}

function Files({ of, label }: { readonly of: Container['files']; readonly label: string }) {
  return (
    <Scroll class="scroll" label={label}>
      <table>
        <thead>
          <tr>
            <th scope="col">File</th>
            <th scope="col">Written by</th>
            <th scope="col" class="number">
              Bytes
            </th>
            <th scope="col">When</th>
          </tr>
        </thead>
        <tbody>
          {of.map(({ name, bytes, source, createdAt }) => (
            <tr key={name}>
              <th scope="row" class="mono">
                {showHidden(name)}
              </th>
              <td>{source}</td>
              <td class="number">{formatCount(bytes)}</td>
              <td>{formatTime(createdAt)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
