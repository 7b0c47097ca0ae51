/** Containers: what ran in them, what it printed, and their files. */
import type { ContainerUses, KeptUse } from '../recording/container-uses.ts';

/** The containers in which something ran last. */
const MAX_CONTAINERS = 50;
const MAX_FILES = 200;

/** One after the other: a store of files may be slow, and pages ask again while responses run. */
export async function containerView(uses: ContainerUses) {
  const runs = new Map<string, KeptUse[]>();
  for (const use of uses.newestFirst) {
    const key = JSON.stringify([use.scope, use.id]);
    const known = runs.get(key);
    if (known) known.push(use);
    else if (runs.size < MAX_CONTAINERS) runs.set(key, [use]);
  }
  const views: Awaited<ReturnType<typeof oneContainer>>[] = [];
  for (const list of runs.values()) if (list[0]) views.push(await oneContainer(list[0], list));
  return { containers: views };
}

async function oneContainer({ containers, scope, id }: KeptUse, runs: readonly KeptUse[]) {
  const container = await containers.find({ scope, id }).catch(() => undefined);
  const isThere = container?.status === 'running';
  // It may expire in between.
  const files = isThere ? await containers.files({ scope, id }).catch(() => []) : [];
  return {
    id,
    tenant: scope,
    name: container?.name ?? '',
    status: container?.status ?? 'gone',
    createdAt: container?.createdAt ?? null,
    lastActiveAt: container?.lastActiveAt ?? null,
    expiresAfterMs: container?.expiresAfterMs ?? null,
    network: container?.networkPolicy.type ?? null,
    domains: container?.networkPolicy.allowedDomains ?? [],
    memoryLimit: container?.memoryLimit ?? null,
    fileCount: files.length,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    files: files.slice(-MAX_FILES).map(({ name, bytes, source, createdAt }) => ({ name, bytes, source, createdAt })),
    runs: runs.map(({ scope: _, id: __, containers: ___, ...run }) => run),
  };
}
