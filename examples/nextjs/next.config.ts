/** Next must not bundle the package, which loads optional packages and its own threads at run time. */
import type { NextConfig } from 'next';

const config: NextConfig = { serverExternalPackages: ['express-open-responses'] };

export default config;
