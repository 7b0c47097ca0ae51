#!/usr/bin/env bash
# Builds the image, runs it with the demo model, and asks it; says so and succeeds where no Docker daemon answers, or its base cannot be pulled.
set -euo pipefail
cd "$(dirname "$0")/../.."

if ! docker info >/dev/null 2>&1; then
  echo 'skipped: no Docker daemon answers'
  exit 0
fi
for base in $(sed -nE 's/^FROM ([^ ]+).*/\1/p' Dockerfile | sort -u); do
  docker image inspect "$base" >/dev/null 2>&1 || docker pull --quiet "$base" >/dev/null || {
    echo "skipped: $base is not here and cannot be pulled"
    exit 0
  }
done
image=express-open-responses-test
docker build --quiet -t "$image" . >/dev/null
container=$(docker run --detach --init --publish 127.0.0.1::3000 "$image" --store /data/responses.db)
trap 'docker rm --force --volumes "$container" >/dev/null' EXIT
address=$(docker port "$container" 3000/tcp | head -n 1)

curl --silent --show-error --fail --retry 30 --retry-delay 1 --retry-all-errors "http://$address/health" >/dev/null
answer=$(curl --silent --show-error --fail "http://$address/v1/responses" \
  -H 'content-type: application/json' -d '{"model":"demo","input":"Say hello."}')
grep -q 'Hello from the demo model' <<<"$answer"
[ "$(docker exec "$container" id -un)" = node ]
docker stop --time 15 "$container" >/dev/null
[ "$(docker inspect --format '{{.State.ExitCode}}' "$container")" = 0 ]
echo "ok: $(docker image inspect --format '{{.Size}}' "$image") bytes, answers, runs as node, stops with status 0"
