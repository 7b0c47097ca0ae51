# The program `express-open-responses` with the drivers of its stores and the MCP client: docs/npx.md.
FROM node:24-alpine AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm pack --pack-destination /tmp \
  && npm install --prefix /app --omit=dev --ignore-scripts --no-audit --no-fund \
  /tmp/express-open-responses-*.tgz redis@6 pg@8 @modelcontextprotocol/client@2

FROM node:24-alpine
ENV NODE_ENV=production
COPY --from=build /app/node_modules /app/node_modules
# For the SQLite file of --store /data/responses.db.
RUN mkdir /data && chown node:node /data
VOLUME /data
WORKDIR /data
USER node
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=40s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:3000/health').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Memory for some more garbage collections: docs/production.md, "Node's settings".
ENTRYPOINT ["node", "--max-semi-space-size=8", "/app/node_modules/express-open-responses/dist/cjs/hosts/cli/bin.js", "--host", "0.0.0.0"]
