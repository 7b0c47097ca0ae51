/** Streams of a model that is silent for longer than the proxy in front of the app waits. */

import { hasNginx, NGINX, type Nginx, startNginx } from '../support/nginx.ts';
import { nginxBefore, throughSilence, WHOLE } from '../support/silent-model.ts';
import { describeWhere } from '../support/skipping.ts';

const describeNginx = describeWhere(hasNginx, `there is no ${NGINX} on this machine`);

describeNginx('behind an nginx that waits for five seconds', () => {
  let nginx: Nginx | undefined;
  afterEach(() => nginx?.close());

  it('[O-04] every API is answered by a model that is silent for twelve', async () => {
    const received = await throughSilence({
      options: { limits: { model: { openAfterMs: 100 } }, heartbeat: { intervalMs: 300 } },
      proxy: { openAfterMs: 100, intervalMs: 300 },
      front: async (port) => {
        nginx = await startNginx(nginxBefore(port, '5s'));
        return nginx.port;
      },
      heartbeats: 40,
      pings: 40,
    });
    expect(received).toEqual(WHOLE);
  });
});
