FROM node:22-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The embedded Postgres is optional and not needed beside a real one, but builds use optional packages.
RUN npm ci
COPY . .
RUN npm run build

FROM node:22-bookworm-slim
WORKDIR /app
ENV NODE_ENV=production
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional
COPY --from=build /app/dist ./dist
# In a container the port is published on purpose, or not at all.
ENV HOST=0.0.0.0
USER node
EXPOSE 3000
# Node itself, not npm: signals then reach the shop, which drains before it ends.
CMD ["node", "dist/src/main.js", "--prod"]
