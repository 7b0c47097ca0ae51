/** Decorated upstreams: they have what the upstream has, and lack what it lacks. */
import { withBudget } from '../../src/engine/metering/budgeted.ts';
import { createInspector } from '../../src/observe/inspector/index.ts';
import { traced } from '../../src/observe/otel/index.ts';
import type { Upstream } from '../../src/ports/upstream.ts';
import { wrapUpstream } from '../../src/ports/wrap-upstream.ts';

/** As a host writes one: an object of a class with a private field, a getter, and a method that no port names. */
class HostUpstream implements Upstream {
  readonly #models = ['small', 'large'];
  isReady = false;

  get name(): string {
    return `host-${this.#models.length}`;
  }

  async *stream() {
    yield [{ type: 'finish' as const, reason: 'stop' as const }];
  }

  async models() {
    return this.#models.map((id) => ({ id }));
  }

  retrain(model: string): string {
    return `${model} of ${this.#models.length}`;
  }
}

const DECORATORS: Readonly<Record<string, (upstream: Upstream) => Upstream | Promise<Upstream>>> = {
  wrapUpstream: (upstream) => wrapUpstream(upstream, { stream: () => upstream.stream({} as never, {} as never) }),
  traced: (upstream) => traced({ upstream }).upstream,
  'an inspector': (upstream) => createInspector().observe({ upstream }).upstream,
  'a budget': async (upstream) => {
    const budget = { admit: () => ({ count() {} }), resume: () => ({ count() {} }) };
    const settings = { upstream, budget, countTokens: async () => 1 };
    const { settings: own } = await withBudget({ scope: 'a', context: undefined } as never, settings as never, {
      whenOver() {},
    });
    return (own as { readonly upstream: Upstream }).upstream;
  },
};

describe.each(Object.keys(DECORATORS))('an upstream behind %s', (name) => {
  const decorate = (upstream: Upstream) => DECORATORS[name]?.(upstream) as Upstream & HostUpstream;

  it('passes methods through that no decorator knows', async () => {
    const upstream = await decorate(new HostUpstream());
    expect(upstream.retrain('small')).toBe('small of 2');
    expect(await upstream.models()).toEqual([{ id: 'small' }, { id: 'large' }]);
  });

  it('lacks the optional methods that the upstream lacks', async () => {
    const upstream = await decorate(new HostUpstream());
    expect([upstream.chat, upstream.messages, upstream.redact, upstream.servers]).toEqual(Array(4).fill(undefined));
    expect('chat' in upstream).toBe(false);
  });

  it('reads getters and changing fields from the upstream', async () => {
    const host = new HostUpstream();
    const upstream = await decorate(host);
    host.isReady = true;
    expect([upstream.name, upstream.isReady, upstream instanceof HostUpstream]).toEqual(['host-2', true, true]);
    upstream.isReady = false;
    expect(host.isReady).toBe(false);
  });

  it('decorates a frozen object, whose members can be copied', async () => {
    const stream = new HostUpstream().stream;
    const upstream = await decorate(Object.freeze({ name: 'frozen', stream }));
    expect(upstream.stream).not.toBe(stream);
    expect(Object.keys({ ...upstream })).toEqual(['name', 'stream']);
  });
});
