#!/bin/sh
# Builds the peers, then counts them beside a commit of the candidate: bench/measure.sh [COMMIT], HEAD by default.
# First the contract's requests, then one request again and again; each with 1 and with 8 in flight on a connection.
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/bench/target}
(cd bench && cargo build --release --locked --target-dir "$target")
peers=$target/x86_64-unknown-linux-gnu/release

measure() {
    cargo run --quiet -- measure "${commit}" --depth 1 --depth 8 "$@"
}
commit=$(git rev-parse --short "${1:-HEAD}")

echo "== The contract's requests"
measure \
    --binary axum-control="$peers/axum-control" \
    --binary axum-control-flush="$peers/axum-control-flush"

echo "== One request, one answer"
measure \
    --binary axum-control="$peers/axum-control" \
    --binary axum-control-flush="$peers/axum-control-flush" \
    --binary may-minihttp="$peers/may-minihttp" \
    --binary floor-epoll="$peers/floor-epoll" \
    --binary floor-uring="$peers/floor-uring" \
    --request bench/constant/request.http \
    --answer bench/constant/answer.http \
    --answer may-minihttp=bench/constant/may-minihttp.http
