# docker build -t likewise .
# docker run --rm -v "$PWD:/data" likewise fit items.npz --labels labels.csv -o run
FROM rust:1.95-bookworm AS build
WORKDIR /source
COPY . .
RUN cargo build --release --locked -p likewise-cli --features export --bin likewise
# The licenses of all that the program is built from go with it.
RUN cargo run --locked --bin xtask -- notices

FROM debian:bookworm-slim
RUN apt-get update && apt-get install --yes --no-install-recommends libstdc++6 && rm -rf /var/lib/apt/lists/*
COPY --from=build /source/target/release/likewise /usr/local/bin/likewise
COPY --from=build /source/LICENSE-* /source/target/THIRD-PARTY.md /usr/share/doc/likewise/
USER 1000:1000
# Features of networks are kept here; a volume keeps them between runs.
ENV LIKEWISE_CACHE=/tmp/likewise
WORKDIR /data
ENTRYPOINT ["likewise"]
