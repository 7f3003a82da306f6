#!/bin/sh
# Builds the peers and counts them beside a commit of the candidate: bench/measure.sh [COMMIT], HEAD by default. First the
# contract's requests, then one request again and again; each with 1 and with 8 in flight on a connection.
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/bench/target}
(cd bench && cargo build --release --locked --target-dir "$target")
peers=$target/x86_64-unknown-linux-gnu/release

# The answer without a name is that of the servers that know the contract; those with a name know nothing else.
exec cargo run --quiet -- measure "${1:-HEAD}" --depth 1 --depth 8 \
    --binary axum-control="$peers/axum-control" \
    --binary axum-control-flush="$peers/axum-control-flush" \
    --binary may-minihttp="$peers/may-minihttp" \
    --binary floor-epoll="$peers/floor-epoll" \
    --binary floor-uring="$peers/floor-uring" \
    --request bench/constant/request.http \
    --answer bench/constant/answer.http \
    --answer may-minihttp=bench/constant/may-minihttp.http \
    --answer floor-epoll=bench/constant/answer.http \
    --answer floor-uring=bench/constant/answer.http
