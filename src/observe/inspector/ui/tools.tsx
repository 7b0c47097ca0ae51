/** The servers of tools, with what they offer. */
import type { toolView } from '../server/part-views.ts';
import { useData } from './parts/data.tsx';
import { count, ms, pretty, time, visible } from './parts/format.tsx';
import { Box, Fold, Status, Text, Waiting } from './parts/parts.tsx';
import { TryTool } from './try-tool.tsx';

type View = Awaited<ReturnType<typeof toolView>>;
type Server = View['servers'][number];
type Tool = Server['tools'][number];

interface Props {
  readonly version: number;
  /** Whether tools may be tried. */
  readonly canRun: boolean;
}

export function ToolsPage({ version, canRun }: Props) {
  const { data, error } = useData<View>('api/tools', version);
  return (
    <>
      <div class="title">
        <h1>Tools</h1>
      </div>
      {!data && <Waiting error={error} />}
      {data?.choosesTools && (
        <p class="faint">A router chooses its tools by request: those that were called are listed.</p>
      )}
      {data?.servers.length === 0 && <p class="empty">The observed routers run no tools.</p>}
      {data?.servers.map((server) => (
        <ServerView key={server.label} server={server} canRun={canRun} />
      ))}
    </>
  );
}

function ServerView({ server, canRun }: { readonly server: Server; readonly canRun: boolean }) {
  const { label, state, protocol, transport, total, tools } = server;
  return (
    <section class="card" aria-label={visible(label)}>
      <header>
        <h2>{visible(label)}</h2> {state && <Status of={state} />}
        <span class="faint">
          {[protocol && `MCP ${visible(protocol)}`, transport && visible(transport)].filter(Boolean).join(' · ')}
        </span>
        <span class="when">{totalOf(total)}</span>
      </header>
      {server.error && (
        <p class="problem">
          <Text of={server.error} />
        </p>
      )}
      {tools.length === 0 && <p class="faint">It offers no tools now.</p>}
      {tools.map((tool) => (
        <ToolView key={tool.name} server={label} tool={tool} canRun={canRun} />
      ))}
    </section>
  );
}

function totalOf({ calls, failures, mean }: Server['total']): string {
  if (calls === 0) return 'not called yet';
  const failed = failures > 0 ? `, ${count(failures)} failed` : '';
  return `${count(calls)} ${calls === 1 ? 'call' : 'calls'}${failed}, ${ms(mean)} on average`;
}

interface ToolProps {
  readonly server: string;
  readonly tool: Tool;
  readonly canRun: boolean;
}

function ToolView({ server, tool, canRun }: ToolProps) {
  return (
    <Fold class="tool" title={<ToolTitle tool={tool} />}>
      {() => (
        <>
          <Text of={tool.description} class="body" />
          {tool.lastError && (
            <p class="problem">
              <span class="when">{time(tool.lastError.at)}</span> <Text of={tool.lastError.message} />
            </p>
          )}
          <div class="sides">
            {tool.schema !== '' && (
              <section>
                <h3>Schema</h3>
                <Box of={pretty(tool.schema)} label={`Schema of ${server} ${tool.name}`} />
              </section>
            )}
            {canRun && tool.canRun && <TryTool server={server} name={tool.name} schema={tool.schema} />}
          </div>
        </>
      )}
    </Fold>
  );
}

function ToolTitle({ tool }: { readonly tool: Tool }) {
  const { calls, failures, mean, longest } = tool;
  const notes = [
    tool.deferred ? 'deferred' : '',
    tool.requestedBy ? `for ${visible(tool.requestedBy)}` : '',
    tool.isOffered ? '' : 'not offered now',
  ].filter(Boolean);
  return (
    <>
      <strong class="mono">{visible(tool.name)}</strong>{' '}
      {notes.length > 0 && <span class="faint">{notes.join(', ')}</span>}
      <span class="about">{visible(tool.description.slice(0, 160))}</span>
      <span class="when">
        {calls > 0 && `${count(calls)} × ${ms(mean)}`}
        {calls > 1 && `, longest ${ms(longest)}`}
        {failures > 0 && <span class="error"> {count(failures)} failed</span>}
      </span>
    </>
  );
}
