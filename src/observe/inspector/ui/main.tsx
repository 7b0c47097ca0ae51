/** Chooses the page of the inspector by the address. */
import { render } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { ContainersPage } from './containers.tsx';
import { Conversations } from './conversations.tsx';
import { JobsPage } from './jobs.tsx';
import { type Live, useData, useLive, usePlace } from './parts/data.tsx';
import { Playground } from './playground.tsx';
import { Requests } from './requests.tsx';
import { ResponsePage } from './response.tsx';
import { UpstreamsPage } from './servers.tsx';
import { ToolsPage } from './tools.tsx';
import { TracesPage } from './traces.tsx';

/** The server's version and settings. */
interface About {
  readonly version: string;
  readonly access: 'loopback' | 'authorize' | 'behindAuth';
  readonly apiPath: string | null;
  readonly hasContainers: boolean;
}

const ACCESS = {
  loopback: 'Only this machine can see this page.',
  authorize: 'The host’s own check admits requests.',
  behindAuth: 'The host’s authentication runs before this page.',
};

const PAGES = [
  ['', 'Requests'],
  ['conversations', 'Conversations'],
  ['tools', 'Tools'],
  ['upstreams', 'Upstreams'],
  ['containers', 'Containers'],
  ['traces', 'Traces'],
  ['jobs', 'Batches and webhooks'],
  ['playground', 'Playground'],
] as const;

function App() {
  const live = useLive();
  const { page, query } = usePlace();
  const { data: about } = useData<About>('api/about', 0);
  const main = useRef<HTMLElement>(null);
  const [name = '', id = ''] = page.split('/');
  useTitle(name, main);
  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <Head page={name} about={about} live={live} />
      <main ref={main} tabIndex={-1}>
        <Page name={name} id={id} query={query} version={live.version} about={about} />
      </main>
      <footer class="faint">
        express-open-responses {about?.version}. {about && ACCESS[about.access]} Kept in memory; gone with the process.
      </footer>
    </>
  );
}

/** Announces a new page by its title, and moves the focus to its beginning. */
function useTitle(name: string, main: { readonly current: HTMLElement | null }): void {
  const isFirst = useRef(true);
  useEffect(() => {
    const [, title] = PAGES.find(([page]) => page === name) ?? ['', 'Response'];
    document.title = `${title} – Inspector`;
    document.querySelector('.head [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
    if (!isFirst.current) main.current?.focus({ preventScroll: true });
    if (!isFirst.current) scrollTo(0, 0);
    isFirst.current = false;
  }, [name]);
}

interface PageProps {
  readonly name: string;
  readonly id: string;
  readonly query: URLSearchParams;
  readonly version: number;
  readonly about: About | undefined;
}

function Page({ name, id, query, version, about }: PageProps) {
  switch (name) {
    case '':
      return <Requests version={version} />;
    case 'responses':
      return <ResponsePage key={id} number={id} version={version} apiPath={about?.apiPath ?? null} />;
    case 'conversations':
      return <Conversations key={query.get('of')} version={version} of={query.get('of')} />;
    case 'tools':
      return <ToolsPage version={version} canRun={!!about?.apiPath} />;
    case 'upstreams':
      return <UpstreamsPage version={version} />;
    case 'containers':
      return <ContainersPage version={version} />;
    case 'traces':
      return <TracesPage version={version} />;
    case 'jobs':
      return <JobsPage version={version} />;
    case 'playground':
      if (about?.apiPath) return <Playground apiPath={about.apiPath} from={query.get('from')} />;
      return about ? (
        <p class="empty">The playground is off. The option playground of createInspector turns it on.</p>
      ) : null;
    default:
      return <p class="empty">There is no such page.</p>;
  }
}

/** Pages whose option is not set are not offered. */
function isOn(page: string, about: About | undefined): boolean {
  if (page === 'playground') return !!about?.apiPath;
  return page !== 'containers' || about?.hasContainers === true;
}

function Head({
  page,
  about,
  live,
}: {
  readonly page: string;
  readonly about: About | undefined;
  readonly live: Live;
}) {
  const current = page === 'responses' ? '' : page;
  return (
    <header class="head">
      <span class="brand">
        <img src="icon.svg" alt="" width="20" height="20" />
        Inspector
      </span>
      <nav aria-label="Main">
        {PAGES.filter(([name]) => isOn(name, about)).map(([name, title]) => (
          <a key={name} href={`#/${name}`} aria-current={name === current ? 'page' : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <span role="status" class={live.isConnected ? 'live' : 'live lost'}>
        {live.isConnected ? 'Live' : 'Not connected'}
      </span>
    </header>
  );
}

const root = document.getElementById('app');
if (root) render(<App />, root);
