/** How this package introduces itself to servers. */
import { VERSION } from '../../../../protocol/version.ts';

/** The version is that of package.json. */
export const CLIENT_INFO = { name: 'express-open-responses', version: VERSION };
