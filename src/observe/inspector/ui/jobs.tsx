/** The last batches of a tenant, and the last deliveries of its webhooks. */
import { useState } from 'preact/hooks';
import type { jobView } from '../server/job-view.ts';
import { useData } from './parts/data.tsx';
import { formatCount, formatTime, shortenId, showHidden } from './parts/format.tsx';
import { Scroll, Status, Text, Waiting } from './parts/parts.tsx';

type View = Awaited<ReturnType<typeof jobView>>;
type Batches = NonNullable<View['batches']>;
type Deliveries = NonNullable<View['deliveries']>;

export function JobsPage({ version }: { readonly version: number }) {
  const [tenant, setTenant] = useState<string>();
  const [round, setRound] = useState(0);
  const { data, error } = useData<View>(
    `api/jobs?${tenant === undefined ? '' : `tenant=${encodeURIComponent(tenant)}`}`,
    // Batches and deliveries are in the store, which tells the page nothing.
    version + round,
  );
  if (!data) return <Waiting error={error} />;
  const { tenants, hasBatches, hasWebhooks, batches, deliveries } = data;
  return (
    <>
      <div class="title">
        <h1>Batches and webhooks</h1>
      </div>
      {!(hasBatches || hasWebhooks) && (
        <p class="empty">There is nothing to show: give createInspector its options batches and webhooks.</p>
      )}
      {error && <Waiting error={error} />}
      <form
        class="bar"
        onSubmit={(event) => {
          event.preventDefault();
          // The cast: the form has this field.
          const typed = new FormData(event.currentTarget).get('tenant') as string;
          setTenant(typed === '' ? undefined : typed);
          setRound(round + 1);
        }}
      >
        <label>
          Tenant <input name="tenant" list="tenants" autocomplete="off" maxLength={512} />
        </label>
        <datalist id="tenants">
          {tenants.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
        <button type="submit" class="primary">
          Show
        </button>
      </form>
      {batches && (
        <>
          <h2>Batches</h2>
          <BatchTable of={batches} />
        </>
      )}
      {deliveries && (
        <>
          <h2>Deliveries of webhooks</h2>
          <DeliveryTable of={deliveries} />
        </>
      )}
    </>
  );
}

function BatchTable({ of }: { readonly of: Batches }) {
  if (of.length === 0) return <p class="empty">This tenant has no batches.</p>;
  return (
    <Scroll class="scroll" label="Batches">
      <table>
        <thead>
          <tr>
            {['Batch', 'Status', 'Endpoint', 'Created'].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
            {['Lines', 'Answered', 'Failed'].map((name) => (
              <th key={name} scope="col" class="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {of.map(({ id, status, endpoint, at, total, completed, failed }) => (
            <tr key={id}>
              <th scope="row" class="mono">
                {shortenId(id)}
              </th>
              <td>
                <Status of={status} />
              </td>
              <td class="mono">{showHidden(endpoint)}</td>
              <td>{formatTime(at)}</td>
              <td class="number">{formatCount(total)}</td>
              <td class="number">{formatCount(completed)}</td>
              <td class={failed > 0 ? 'number error' : 'number'}>{formatCount(failed)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function DeliveryTable({ of }: { readonly of: Deliveries }) {
  if (of.length === 0) return <p class="empty">Nothing was delivered to this tenant.</p>;
  return (
    <Scroll class="scroll" label="Deliveries of webhooks">
      <table>
        <thead>
          <tr>
            {['Event', 'Outcome', 'Of', 'Endpoint', 'Sent', 'Attempt', 'Next'].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {of.map(({ id, type, outcome, subject, endpoint, at, attempt, nextAt, status, error }) => (
            <tr key={`${id} ${endpoint} ${attempt}`}>
              <th scope="row" class="mono">
                {showHidden(type)}
              </th>
              <td>
                <Status of={outcome === 'delivered' ? 'completed' : outcome === 'failed' ? 'incomplete' : 'failed'} />{' '}
                {outcome.replace('_', ' ')} {status ?? ''} {error && <Text class="error" of={error} />}
              </td>
              <td class="mono">{shortenId(subject)}</td>
              <td class="mono">{showHidden(endpoint)}</td>
              <td>{formatTime(at)}</td>
              <td class="number">{formatCount(attempt)}</td>
              <td>{nextAt === null ? '–' : formatTime(nextAt)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
