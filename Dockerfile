# The candidate as a deployable image, and (target `search`) an image that runs the search.
#
#   docker build -t auth-server .                     then: docker run --read-only -v ./data:/storage/data:ro -p 8080:8080 auth-server
#   docker build -t auth-search --target search .     then: docker run -v "$PWD":/repo auth-search search
#
# The server is built with the flags the harness builds it with, so that what was counted is what is deployed.

FROM rust:1-bookworm AS build
WORKDIR /src
COPY . .
RUN RUSTFLAGS="-C target-feature=+crt-static" \
    cargo build --release --locked -p candidate --target x86_64-unknown-linux-gnu

FROM rust:1-bookworm AS search
# Any git does, so no version is pinned.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends git \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /repo
# The repository is mounted: what a search promotes and learns is written into it.
ENV HARNESS_CACHE=/repo/target/harness-cache
ENTRYPOINT ["cargo", "run", "--profile", "judge", "--locked", "--"]
CMD ["search"]

FROM scratch AS server
COPY --from=build /src/target/x86_64-unknown-linux-gnu/release/candidate /candidate
USER 65534:65534
EXPOSE 8080
VOLUME ["/storage/data"]
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["/candidate", "--check"]
ENTRYPOINT ["/candidate"]
