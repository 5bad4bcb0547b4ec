# The Node of package.json. The digest names this image for good, whatever the tag points to later.
ARG NODE=node:26.10.0-slim@sha256:ec7758ee051e457b468b32bde57b0879010b325bb9862718e9615225ce4aaae1

# Production dependencies only, and without the embedded database: a container is given DATABASE_URL.
FROM ${NODE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --omit=optional --no-audit --no-fund
# Of the fonts, the faces that reports are set in: font-shelf.ts names them.
RUN find node_modules/@embedpdf/*/fonts -type f ! -name '*-Regular.*' ! -name '*-SemiBold.ttf' ! -name '*-Bold.otf' ! -name 'NotoSansHebrew-Bold.ttf' ! -name 'NotoNaskhArabic-Bold.ttf' -delete \
  && find node_modules/@fontsource/*/files -type f ! -name 'noto-emoji-emoji-400-normal.woff' ! -regex '.*noto-sans-\([a-z]*\)-\1-[46]00-normal.woff' -delete

# The verifier and the SDK are built here, once. The development dependencies that it takes stay behind.
FROM ${NODE} AS assets
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY verifier verifier
COPY sandbox sandbox
COPY sdk sdk
COPY src src
COPY scripts scripts
RUN node scripts/build-assets.ts

FROM ${NODE}
ENV NODE_ENV=production DATA_DIR=/data
WORKDIR /app
# What is signed last is remembered in the one, the keys of open elections stand in the other, both apart from the database:
# mount a volume for each.
RUN install -d -o node -g node /data && install -d -m 700 -o node -g node /ballot-keys
COPY --from=dependencies /app/node_modules node_modules
COPY --from=assets /app/build build
COPY package.json ./
COPY migrations migrations
COPY docs docs
COPY verifier verifier
COPY sandbox sandbox
COPY sdk sdk
COPY src src
# Compiled once, here, as the user that runs it: each user has a part of its own of what is kept. It can read that and write nothing beside it.
RUN install -d -o node node_modules/.cache
USER node
RUN node --import ./src/platform/quick-start.ts --input-type=module -e "await import('#src/service.ts')"
USER root
RUN chown -R root:root node_modules/.cache && chmod -R a+rX,go-w node_modules/.cache
USER node
EXPOSE 3000
# A database that is away is no reason to restart.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["node", "-e", "fetch('http://127.0.0.1:'+(process.env.PORT||3000)+'/health/live').then(r=>process.exit(r.ok?0:1),()=>process.exit(1))"]
CMD ["node", "src/main.ts"]
