/** As it is installed: nginx cuts what is silent for a minute, and the model reads its prompt for more than three. */

import { hasNginx, NGINX, type Nginx, startNginx } from '../support/nginx.ts';
import { nginxBefore, throughSilence, WHOLE } from '../support/silent-model.ts';
import { describeWhere } from '../support/skipping.ts';

const describeNginx = describeWhere(hasNginx, `there is no ${NGINX} on this machine`);

describeNginx('behind an nginx that waits for a minute', () => {
  let nginx: Nginx | undefined;
  afterEach(() => nginx?.close());

  it('[O-04] every API is answered by a model that is silent for 200 seconds, without any option', async () => {
    const received = await throughSilence({
      options: {},
      proxy: {},
      front: async (port) => {
        nginx = await startNginx(nginxBefore(port, '60s'), 590_000);
        return nginx.port;
      },
      // After 5 seconds, and then one every 15.
      heartbeats: 14,
      pings: 100,
    });
    expect(received).toEqual(WHOLE);
  });
});
