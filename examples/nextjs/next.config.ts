/** Next leaves the package as it is: it loads optional packages and threads of its own at run time. */
import type { NextConfig } from 'next';

const config: NextConfig = { serverExternalPackages: ['express-open-responses'] };

export default config;
